"""What a run of words keeps, also where the disk is full, and who may train it."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.dialogue.grpo import GRPOLearner
from selfplay.dialogue.models import read_model
from selfplay.errors import ConfigError, DiskError, IncompatibleError, RunLockedError
from selfplay.run.rating_games import RatingGames
from tests.checkpoint.samples import forge
from tests.dialogue.test_app import resume, run, weights
from tests.run.disks import WRITING, Disk
from tests.run.runs import KEPT
from tests.run.test_breakage import at_call
from tests.support.cases import first_alone

FIVE = ("--games", 160, "--learning-rate", 1e-3, "--kl", 0, "--evaluation-states", 0, "--set", "run.keep_checkpoints=9")


def folders(run, kind):
    return sorted(path.name for path in (run / kind).iterdir())


@pytest.mark.parametrize("operation", first_alone(["write", "fsync"]))
def test_a_disk_that_is_full_for_a_while(kuhn_start, tmp_path, monkeypatch, operation):
    disk = Disk(monkeypatch, operation)
    at_call(monkeypatch, GRPOLearner, "update", 2, disk.fill)
    at_call(monkeypatch, GRPOLearner, "update", 3, disk.empty)
    code, shown = run(tmp_path / "run", kuhn_start, *FIVE)
    assert code == 0
    (told,) = [line for line in shown.splitlines() if "DISK: " in line]
    assert "No space left on device; training goes on, and it is tried again" in told
    assert shown.count("Disk: there is space again") == 1
    assert "learner failed" not in shown
    assert folders(tmp_path / "run", "learner") == ["iter_0", "iter_3", "iter_4", "iter_5"]
    assert folders(tmp_path / "run", "generations") == ["gen_0", "gen_4", "gen_5"]
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 5


def test_a_disk_that_stays_full_is_how_the_run_ends(kuhn_start, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        disk = Disk(patch, *WRITING)
        at_call(patch, GRPOLearner, "update", 3, disk.fill)
        with pytest.raises(DiskError, match=r"this is not saved: .*the state of training .*of iteration 2: make room"):
            run(folder, kuhn_start, *FIVE)
    assert folders(folder, "learner") == ["iter_0", "iter_2"]
    for name in folders(folder, "generations"):
        read_model(folder / "generations" / name)
    assert resume(folder)[0] == 0
    assert load_latest_learner(RunDir(folder)).meta.iteration == 5


def test_the_rule_of_what_is_kept(kuhn_start, tmp_path, monkeypatch):
    """The newest, the first of every four, and the best, which is as good as told."""

    async def best(self, generations):
        return "gen_2"

    monkeypatch.setattr(RatingGames, "best", best)
    options = ("--save-interval", 1, *KEPT)
    code, _ = run(tmp_path / "run", kuhn_start, "--games", 192, "--kl", 0, "--evaluation-states", 0, *options)
    assert code == 0
    assert folders(tmp_path / "run", "learner") == ["iter_0", "iter_2", "iter_4", "iter_6"]
    code, _ = resume(tmp_path / "run", "--set", "run.keep_every=0", "--games", 224)
    assert code == 0
    assert folders(tmp_path / "run", "learner") == ["iter_2", "iter_7"]


def test_the_best_is_who_is_rated_highest(kuhn_start, tmp_path, monkeypatch):
    found, real = [], RatingGames.best

    async def best(self, generations):
        found.append(await real(self, generations))
        return found[-1]

    monkeypatch.setattr(RatingGames, "best", best)
    options = (
        "--save-interval",
        1,
        "--set",
        "run.keep_checkpoints=1",
        "--set",
        "run.keep_best=true",
        "--track-elo",
        "--rating-share",
        0.9,
    )
    code, _ = run(tmp_path / "run", kuhn_start, "--games", 64, "--kl", 0, "--evaluation-states", 0, *options)
    assert code == 0
    rows = RunDir(tmp_path / "run").read_summary()["leaderboard"]["rows"]
    rated = {row["policy"]: row["rating"] for row in rows if row["policy"].startswith("gen_")}
    assert rated[found[-1]] == max(rated.values())


def test_the_best_of_a_run_without_ratings_is_nobody(kuhn_start, tmp_path):
    with pytest.raises(ConfigError, match=r"--set run.keep_best=true keeps the best by rating games: add --track-elo"):
        run(tmp_path / "run", kuhn_start, "--set", "run.keep_best=true")
    assert not (tmp_path / "run").exists()


def test_only_one_trainer_at_a_time(kuhn_start, tmp_path):
    folder = tmp_path / "run"
    assert run(folder, kuhn_start, "--games", 32, "--kl", 0, "--evaluation-states", 0)[0] == 0
    with RunDir(folder).lock(), pytest.raises(RunLockedError, match=f"process {os.getpid()}"):
        resume(folder, "--games", 64)


GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def golden(tmp_path, monkeypatch):
    """A run of two iterations, written once and kept, so that no change of the format goes unnoticed."""
    monkeypatch.chdir(tmp_path)  # where it began with a model of ours, which its first generation is
    start = RunDir(GOLDEN).read_run()["config"]["model"]["name"]
    shutil.copytree(GOLDEN / "generations" / "gen_0", start)
    return Path(shutil.copytree(GOLDEN, tmp_path / "run"))


def test_a_run_of_format_1_goes_on(golden):
    state = load_latest_learner(RunDir(golden))
    assert (state.meta.iteration, state.meta.total_steps, state.skipped) == (2, 54, ())
    meta = read_model(golden / "generations" / "gen_2")
    assert (meta.id, meta.iteration, meta.game) == ("gen_2", 2, "kuhn_text")
    before = weights(golden, "gen_2")
    code, shown = resume(golden, "--games", 48)
    assert code == 0
    assert "Resumed at: iteration 2" in shown
    assert folders(golden, "generations") == ["gen_0", "gen_1", "gen_2", "gen_3"]
    assert any(not np.array_equal(weights(golden, "gen_3")[name], array) for name, array in before.items())


@pytest.mark.parametrize(
    "file", ["learner/iter_2/learner.json", "learner/iter_2/MANIFEST.json", "generations/gen_2/selfplay.json"]
)
def test_a_newer_format_is_refused_by_name_and_nothing_older_takes_its_place(golden, file):
    path = golden / file
    text = path.read_bytes().replace(b'"format_version": 1', b'"format_version": 9')
    if path.name == "MANIFEST.json":
        path.write_bytes(text)
    else:
        forge(path.parent, **{path.name.replace(".", "__"): text})
    shutil.copytree(golden / "learner" / "iter_2", golden / "learner" / "iter_1")
    with pytest.raises(
        IncompatibleError, match=rf"{path.name}: written by a newer selfplay \(format 9; this one reads"
    ):
        resume(golden, "--games", 48)


@pytest.mark.parametrize("file", ["learner.json", "optimizer.safetensors", "MANIFEST.json"])
def test_a_damaged_state_is_passed_over_and_named(golden, file):
    assert resume(golden, "--games", 48)[0] == 0
    path = golden / "learner" / "iter_3" / file
    path.write_bytes(path.read_bytes()[:-20])
    code, shown = resume(golden, "--games", 48)
    assert code == 0
    assert "Resumed at: iteration 2" in shown
    assert "iter_3: " in shown
    assert file in shown
    assert (golden / "generations" / ".set-aside" / "gen_3-1").is_dir()
