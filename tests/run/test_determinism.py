import json
import os

import pytest
import torch

from selfplay.config import resolve
from selfplay.errors import ConfigError
from selfplay.machine import CUBLAS, WORKSPACES
from selfplay.ppo import app
from tests.run.runs import ITERATION, assert_equal_runs, hashes, rows, train
from tests.support.cases import first_alone

INTERVAL = 2
# The share of rating is so large that a batch of games falls due in iteration 4, where a checkpoint is written too.
EQUAL = ("--deterministic", "--track-elo", "--rating-share", "1", "--save-interval", INTERVAL, "--runners", "2")
LAST = 8
GENERATIONS = [f"gen_{i}" for i in range(0, LAST + 1, INTERVAL)]


def steps(iterations):
    return ("--timesteps", iterations * ITERATION)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert train(folder, *EQUAL, *steps(LAST))[0] == 0
    return folder


def test_two_runs_are_equal(whole, tmp_path):
    train(tmp_path / "again", *EQUAL, *steps(LAST))
    assert_equal_runs(whole, tmp_path / "again", generations=GENERATIONS)


@pytest.mark.parametrize("cores", [1, 64])
def test_the_number_of_cores_makes_no_difference(tmp_path, monkeypatch, cores):
    small = ("--game-type", "kuhn", "--num-games", 32, "--rollout-length", 8, "--deterministic", "--save-interval", 1)
    for name, found in (("here", 2), ("there", cores)):
        monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda found=found: found)
        assert train(tmp_path / name, "--timesteps", 512, size=small)[0] == 0
    assert train(tmp_path / "here", "--timesteps", 768, resume=True)[0] == 0  # with those of another machine
    assert train(tmp_path / "there", "--timesteps", 768, resume=True)[0] == 0
    assert_equal_runs(tmp_path / "here", tmp_path / "there", generations=[f"gen_{i}" for i in range(4)])
    for name in ("here", "there"):
        settings = json.loads((tmp_path / name / "run.json").read_text())["config"]["run"]
        assert (settings["runners"], settings["threads"]) == (2, 4)


def test_another_seed_is_another_run(whole, tmp_path):
    train(tmp_path / "other", *EQUAL, *steps(1), "--seed", "1")
    ours, theirs = hashes(whole), hashes(tmp_path / "other")
    assert ours["gen_0"] != theirs["gen_0"]
    assert rows(whole / "metrics.jsonl")[0] != rows(tmp_path / "other" / "metrics.jsonl")[0]


def test_rating_games_are_played_while_training_and_never_against_oneself(whole):
    games = rows(whole / "ledger.jsonl")
    assert {game["iteration"] for game in games} >= {2, LAST}
    players = [{seat["player"] for seat in game["seats"]} for game in games]
    assert all(len(pair) == 2 for pair in players)
    assert set.union(*players) >= {GENERATIONS[0], GENERATIONS[-1], "random"}
    assert not set.union(*players) & {"current", "idle"}
    metrics = rows(whole / "metrics.jsonl")
    assert sum(row.get("opponents/current", 0) for row in metrics) > 0  # mirror games there were


@pytest.mark.parametrize("stop", [3, 4, 7], ids="interrupted after {} iterations".format)
def test_a_resumed_run_equals_an_uninterrupted_one(whole, tmp_path, stop):
    folder = tmp_path / "run"
    assert train(folder, *EQUAL, *steps(stop))[0] == 0
    assert train(folder, *steps(LAST), resume=True)[0] == 0
    assert_equal_runs(whole, folder, generations=GENERATIONS)


@pytest.mark.full
def test_the_host_makes_no_difference_nor_does_changing_it(whole, tmp_path):
    folder = tmp_path / "run"
    assert train(folder, *EQUAL, *steps(6), "--host", "process")[0] == 0
    assert train(folder, *steps(8), "--host", "thread", resume=True)[0] == 0
    assert train(folder, *steps(LAST), "--host", "process", resume=True)[0] == 0
    assert_equal_runs(whole, folder, generations=GENERATIONS)


@pytest.mark.parametrize("mode", first_alone(["delta_uniform", "quality", "pfsp", "pfsp_variance"]))
def test_every_mode_goes_on_with_the_same_opponents(mode, tmp_path):
    """What was scored against whom is part of a checkpoint."""
    equal = ("--deterministic", "--mode", mode, "--save-interval", 1, "--runners", "2")
    assert train(tmp_path / "whole", *equal, *steps(7))[0] == 0
    assert train(tmp_path / "run", *equal, *steps(4))[0] == 0
    assert train(tmp_path / "run", *steps(7), resume=True)[0] == 0
    assert_equal_runs(tmp_path / "whole", tmp_path / "run", generations=[f"gen_{i}" for i in range(8)])
    met = {
        name for row in rows(tmp_path / "run" / "metrics.jsonl") for name in row if name.startswith("opponents/gen_")
    }
    assert met


# ---- on a GPU


@pytest.fixture
def gpu(monkeypatch):
    """This machine seems to have a GPU, and nothing is said of cuBLAS."""
    monkeypatch.setattr(resolve, "check_device", lambda name: None)
    monkeypatch.setattr(app, "pick_device", lambda name: "cuda:0" if name == "cuda" else name)
    monkeypatch.setenv(CUBLAS, "")
    monkeypatch.delenv(CUBLAS)


class Begun(Exception):
    """A run would begin now."""


@pytest.mark.parametrize(
    ("flags", "given", "then"),
    [
        (("--device", "cuda", "--deterministic"), None, WORKSPACES[0]),
        (("--device", "cuda", "--deterministic"), WORKSPACES[1], WORKSPACES[1]),
        (("--device", "cuda"), None, None),
        (("--device", "cuda"), ":4096:2", ":4096:2"),
        (("--deterministic",), None, None),
        (("--deterministic",), ":4096:2", ":4096:2"),
    ],
)
def test_cublas_is_deterministic_before_a_run_begins(gpu, monkeypatch, tmp_path, flags, given, then):
    def begin(*args, **kwargs):
        assert os.environ.get(CUBLAS) == then
        assert torch.are_deterministic_algorithms_enabled() or "--deterministic" not in flags
        raise Begun

    monkeypatch.setattr(app, "create_run", begin)
    if given is not None:
        monkeypatch.setenv(CUBLAS, given)
    with pytest.raises(Begun):
        train(tmp_path / "run", *flags)


def test_a_setting_of_cublas_that_is_not_deterministic_is_refused(whole, gpu, monkeypatch, tmp_path):
    monkeypatch.setenv(CUBLAS, ":4096:2")
    for folder, resume in ((tmp_path / "run", False), (whole, True)):
        before = sorted(tmp_path.iterdir()), hashes(whole)
        with pytest.raises(ConfigError, match=rf"{CUBLAS}=:4096:2 in the environment .*valid: :4096:8, :16:8") as told:
            train(folder, "--device", "cuda", *(() if resume else ("--deterministic",)), resume=resume)
        assert told.value.exit_code == 2
        assert (sorted(tmp_path.iterdir()), hashes(whole)) == before
