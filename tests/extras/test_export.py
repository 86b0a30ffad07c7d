"""Every backbone in both formats plays as the policy does."""

import importlib.util
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from selfplay.checkpoint import NetworkSpec
from selfplay.commands.export import TOLERANCE, described, export
from selfplay.policy.formats import FORMATS
from selfplay.policy.network import KINDS
from selfplay.policy.policy import load_policy
from selfplay_melee.observation import OBS_WIDTH
from tests.run.policies import save, save_other

ROOT = Path(__file__).parents[2]
MISSING = [name for name in ("onnx", "onnxruntime", "onnxscript") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install -e '.[export]')"),
    pytest.mark.filterwarnings("default"),  # of other people's code
    pytest.mark.leaves("thread", "the exporters' progress bars have one that goes on"),
]
DEEP = {"mlp": (64, 64), "gru": (64, 64, 64), "lstm": (64, 64, 64), "mamba": (64, 64, 64), "attention": (64, 64, 64)}


@pytest.fixture(params=KINDS)
def saved(request, tmp_path):
    spec = NetworkSpec(kind=request.param, obs_width=OBS_WIDTH, hidden=DEEP[request.param])
    return save(tmp_path / "run", 3, spec=spec).generations / "gen_3"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_plays_as_its_policy_for_any_number_of_players(saved, kind, tmp_path):
    done = export(saved, kind, tmp_path / "out" / "policy")
    assert done.observations == 1000
    assert 0 <= done.difference < TOLERANCE / 10
    network = load_policy(saved).network
    decide = FORMATS[kind][1](done.path.read_bytes(), network.memory_width)
    generator = torch.Generator().manual_seed(0)
    for rows in (1, 2, 7):
        ours = theirs = network.first_memory(rows)
        for _ in range(3):
            obs = torch.randn(rows, OBS_WIDTH, generator=generator)
            logits, value, ours = network.step(obs, ours)
            copied_logits, copied_value, theirs = decide(obs, theirs)
            torch.testing.assert_close(copied_logits, logits, atol=TOLERANCE, rtol=0)
            torch.testing.assert_close(copied_value, value, atol=TOLERANCE, rtol=0)
            torch.testing.assert_close(theirs, ours, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("game", "network"), [("kuhn", "mlp"), ("tests.games.games:Nim", "gru")])
def test_policies_of_games_that_are_no_fights_are_exported_too(game, network, kind, tmp_path):
    run = save_other(tmp_path / "run", game, network)
    done = export(run, kind, tmp_path / "policy", 100)
    assert done.observations >= 100
    assert done.difference < TOLERANCE / 10
    about = json.loads(done.about.read_text())
    assert [part["name"] for part in about["logits"]] == ["action"]
    assert "character" not in about


def test_an_onnx_file_says_what_it_is(saved, tmp_path):
    import onnxruntime

    path = tmp_path / "policy.onnx"
    export(saved, "onnx", path, 40)
    assert str(ROOT).encode() not in path.read_bytes()
    session = onnxruntime.InferenceSession(path)
    remembers = load_policy(saved).network.memory_width > 0
    assert [each.name for each in session.get_inputs()] == ["obs", "memory"][: 1 + remembers]
    assert [each.name for each in session.get_outputs()] == ["logits", "value", "memory_out"][: 2 + remembers]
    assert all(each.shape[0] == "N" for each in session.get_inputs() + session.get_outputs())
    inside = session.get_modelmeta().custom_metadata_map
    about = described(load_policy(saved))
    assert set(about) <= set(inside)
    assert (inside["policy"], int(inside["frame_skip"]), int(inside["delay"])) == ("gen_3", 4, 0)
    assert json.loads(inside["logits"]) == about["logits"]
    beside = json.loads((tmp_path / "policy.onnx.json").read_text())
    assert beside["logits"] == about["logits"]
    assert beside["check"]["observations"] == 40
    assert sorted(file.name for file in tmp_path.iterdir()) == ["policy.onnx", "policy.onnx.json", "run"]


def test_the_example_of_the_page_plays(saved, tmp_path, monkeypatch):
    text = (ROOT / "docs" / "trainer/export.md").read_text()
    (example,) = text.split("```python needs=onnxruntime\n")[1:]
    export(saved, "onnx", tmp_path / "policy.onnx", 40)
    monkeypatch.chdir(tmp_path)
    made = []
    monkeypatch.setattr(gymnasium, "make", spied(gymnasium.make, made))
    names: dict[str, object] = {}
    exec(example.split("```")[0], names)
    assert names["info"]["ended_by"] in ("stocks", "timer", "cap")
    assert names["done"]
    assert np.isfinite(names["memory"]).all()
    assert made == [("selfplay_melee.gym:selfplay/MockMelee-v1", 4, 0)]


def spied(make, made):
    def make_short(name, **options):
        made.append((name, options["frame_skip"], options["delay"]))
        return make(name, **options, max_episode_frames=400)

    return make_short
