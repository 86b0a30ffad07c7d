"""The cluster of a run is there before its folder."""

import pytest

from selfplay.cli.ppo import parse
from selfplay.errors import ConfigError
from selfplay.ppo.train import train
from selfplay.runner import ray_cluster


def test_a_mistake_costs_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(ray_cluster.importlib.util, "find_spec", lambda name: None)
    invocation = parse(["--host", "ray", "--checkpoint", str(tmp_path / "run"), "--num-games", "2"])
    with pytest.raises(ConfigError, match="not installed"):
        train(invocation)
    assert not (tmp_path / "run").exists()
