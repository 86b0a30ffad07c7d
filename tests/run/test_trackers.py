"""A run that reports to a tracker of the user's own."""

import pytest

import selfplay
from selfplay.checkpoint import RunDir
from selfplay.games import plugins
from selfplay.games.errors import GameError
from tests.report.trackers.own import Shared

NAME = "tests.report.trackers.own:Shared"


@pytest.fixture
def calls(monkeypatch):
    monkeypatch.setattr(plugins, "_allowed", set())
    monkeypatch.setattr(Shared, "calls", [])
    return Shared


def test_it_gets_the_run_and_its_resumption_and_is_named_again(calls, tmp_path):
    settings = {"run": {"timesteps": 64, "num_games": 2, "report_to": [NAME]}, "ppo": {"rollout_length": 16}}
    run = selfplay.train(settings | {"net": {"hidden": (8,)}}, game="kuhn", preset="none", checkpoint=tmp_path / "run")
    identity = RunDir(run.path).read_run()["run_id"]
    assert calls.calls == [
        ("start", identity, None, 2), ("metrics", 32), ("metrics", 64), ("policy", 64, "gen_2", True), ("close",)
    ]  # fmt: skip
    assert not RunDir(run.path).metrics.exists()
    assert not RunDir(run.path).events.exists()
    calls.calls = []
    plugins._allowed.clear()
    more = {"run": {"timesteps": 96}}
    with pytest.raises(GameError, match="is code that a file names"):
        selfplay.train(more, checkpoint=run.path, resume=True)
    more["run"]["report_to"] = [NAME, "jsonl"]
    selfplay.train(more, checkpoint=run.path, resume=True)
    assert calls.calls == [
        ("start", identity, 64, 2), ("metrics", 96), ("policy", 96, "gen_3", True), ("close",)
    ]  # fmt: skip
    assert len(RunDir(run.path).metrics.read_text().splitlines()) == 1
