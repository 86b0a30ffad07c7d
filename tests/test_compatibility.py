"""The files of release 0.1.0, and the names of its Python API, work with this version.

``tests/fixtures/release_0_1_0`` has a run of Kuhn poker as 0.1.0 wrote it, without its log and TensorBoard files.
"""

import inspect
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import selfplay
from selfplay.league.ledger import read_games
from tests.run.runs import hashes
from tests.scripts import commands

RELEASED = Path(__file__).parent / "fixtures" / "release_0_1_0" / "kuhn"
PROBABILITIES = json.loads((RELEASED.parent / "probabilities.json").read_text())
"""Of each legal action, as 0.1.0 computed them, for the observations 0, 1, 0, 0, ... and so on."""
ARGUMENTS = {
    "train": {"config", "game", "network", "opponents", "callbacks", "preset", "checkpoint", "resume", "quiet"},
    "evaluate": {"a", "b", "games", "game", "seed", "greedy"},
    "load_policy": {"path", "device"},
    "load_checkpoint": {"path"},
}


@pytest.fixture
def run(tmp_path):
    shutil.copytree(RELEASED, tmp_path / "kuhn")
    return tmp_path / "kuhn"


def test_a_policy_plays_as_it_did():
    policy = selfplay.load_policy(RELEASED / "generations" / "gen_2")
    width = policy.network.spec.obs_width
    np.testing.assert_allclose(policy.probabilities(np.eye(width, dtype=np.float32)), PROBABILITIES, atol=1e-5)
    assert selfplay.load_checkpoint(RELEASED).total_steps == 256
    assert selfplay.evaluate(RELEASED, "random", games=4).games == 4


def test_a_ledger_is_read_and_goes_on(run, tmp_path):
    said = json.loads((run / "summary.json").read_text())["leaderboard"]["rows"]
    assert len(read_games(run / "ledger.jsonl")) == 16
    shown = commands.run("leaderboard", run, "--all", cwd=tmp_path).stdout
    assert [row["policy"] for row in said if row["games"] and row["policy"] not in shown] == []
    done = commands.run("rate", run, "--budget", 4, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(read_games(run / "ledger.jsonl")) == 20


def test_a_run_is_resumed(run):
    before = hashes(run)
    after = selfplay.train({"run": {"timesteps": 512}}, checkpoint=run, resume=True)
    assert after.finished
    assert after.newest.name == "gen_4"
    assert before == {name: found for name, found in hashes(run).items() if name != "gen_4"}


def test_a_person_plays_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("bet\nquit\n"))
    done = commands.run("play", run, "--seat", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "you have seat 0, gen_2 has seat 1" in done.stdout


def test_no_name_or_argument_of_the_python_api_is_gone():
    assert {*selfplay.__all__} >= {
        *ARGUMENTS, "Candidate", "Checkpoint", "Config", "Policy", "Run", "TextGame", "allow",
    }  # fmt: skip
    for name, arguments in ARGUMENTS.items():
        assert {*inspect.signature(getattr(selfplay, name)).parameters} >= arguments
