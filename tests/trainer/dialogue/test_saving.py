"""What a run of words keeps, also where the disk is full, and who may train it."""

import os

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.checkpoint.models import read_model
from selfplay.errors import ConfigError, DiskError, RunLockedError
from selfplay.learner.grpo import GRPOLearner
from selfplay.trainer.dialogue.rater import WordsRater
from tests.trainer.dialogue.test_app import resume, run
from tests.trainer.disks import WRITING, Disk
from tests.trainer.test_chaos import at_call

FIVE = ("--games", 160, "--learning-rate", 1e-3, "--kl", 0, "--evaluation-states", 0, "--keep-checkpoints", 9)


def folders(run, kind):
    return sorted(path.name for path in (run / kind).iterdir())


@pytest.mark.parametrize("operation", ["write", "fsync"])
def test_a_disk_that_is_full_for_a_while(kuhn_start, tmp_path, monkeypatch, operation):
    disk = Disk(monkeypatch, operation)
    at_call(monkeypatch, GRPOLearner, "update", 2, disk.fill)
    at_call(monkeypatch, GRPOLearner, "update", 3, disk.empty)
    code, shown = run(tmp_path / "run", kuhn_start, *FIVE)
    assert code == 0
    assert "DISK: the state of training could not be saved: cannot write " in shown
    assert "DISK: the generation could not be saved: cannot write " in shown
    assert "DISK: games for people could not be saved: cannot write " in shown
    assert "Disk: the state of training could be saved again" in shown
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

    monkeypatch.setattr(WordsRater, "best", best)
    options = ("--save-interval", 1, "--keep-checkpoints", 1, "--keep-every", 4, "--keep-best", "--track-elo")
    code, _ = run(tmp_path / "run", kuhn_start, "--games", 192, "--kl", 0, "--evaluation-states", 0, *options)
    assert code == 0
    assert folders(tmp_path / "run", "learner") == ["iter_0", "iter_2", "iter_4", "iter_6"]
    code, _ = resume(tmp_path / "run", "--keep-every", 0, "--games", 224)
    assert code == 0
    assert folders(tmp_path / "run", "learner") == ["iter_2", "iter_7"]


def test_the_best_is_who_is_rated_highest(kuhn_start, tmp_path, monkeypatch):
    found, real = [], WordsRater.best

    async def best(self, generations):
        found.append(await real(self, generations))
        return found[-1]

    monkeypatch.setattr(WordsRater, "best", best)
    options = ("--save-interval", 1, "--keep-checkpoints", 1, "--keep-best", "--track-elo", "--rating-share", 0.9)
    code, _ = run(tmp_path / "run", kuhn_start, "--games", 64, "--kl", 0, "--evaluation-states", 0, *options)
    assert code == 0
    rows = RunDir(tmp_path / "run").read_summary()["leaderboard"]["rows"]
    rated = {row["policy"]: row["elo"] for row in rows if row["policy"].startswith("gen_")}
    assert rated[found[-1]] == max(rated.values())


def test_the_best_of_a_run_without_ratings_is_nobody(kuhn_start, tmp_path):
    with pytest.raises(ConfigError, match=r"--keep-best keeps the best by rating games: add --track-elo"):
        run(tmp_path / "run", kuhn_start, "--keep-best")
    assert not (tmp_path / "run").exists()


def test_only_one_trainer_at_a_time(kuhn_start, tmp_path):
    folder = tmp_path / "run"
    assert run(folder, kuhn_start, "--games", 32, "--kl", 0, "--evaluation-states", 0)[0] == 0
    with RunDir(folder).lock(), pytest.raises(RunLockedError, match=f"process {os.getpid()}"):
        resume(folder, "--games", 64)
