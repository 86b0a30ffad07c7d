"""A disk that is full costs what it refuses, no training, and nothing that was saved before."""

import os
import sys

import pytest

from selfplay.checkpoint import RunDir, list_generations, load_generation, load_latest_learner
from selfplay.errors import DiskError, SelfPlayError
from selfplay.ppo.learner import Learner
from tests.run.disks import WRITING, Disk
from tests.run.runs import ITERATION, rows, train
from tests.run.test_breakage import LAST, at_call
from tests.scripts.commands import read_until, start
from tests.support.processes import finish

SIZE = ("--timesteps", LAST * ITERATION, "--save-interval", 2, "--runners", 2, "--set", "run.keep_checkpoints=9")


def states(folder):
    return sorted(path.name for path in (folder / "learner").iterdir())


def hidden(folder):
    return list(folder.rglob(".*-*"))


@pytest.mark.parametrize("operation", WRITING)
def test_a_disk_that_is_full_for_a_while(tmp_path, monkeypatch, operation):
    """From the second update until the third: the save after iteration 2 fails, and is tried again after 3."""
    disk = Disk(monkeypatch, operation)
    at_call(monkeypatch, Learner, "update", 2, disk.fill)
    at_call(monkeypatch, Learner, "update", 3, disk.empty)
    code, text = train(tmp_path / "run", *SIZE, "--track-elo")
    assert code == 0
    (told,) = [line for line in text.splitlines() if "DISK: " in line]
    assert "No space left on device; training goes on, and it is tried again" in told
    assert text.count("Disk: there is space again") == 1
    assert "learner failed" not in text
    assert states(tmp_path / "run") == ["iter_0", "iter_3", "iter_4", "iter_5"]
    assert [one.id for one in list_generations(RunDir(tmp_path / "run"))] == ["gen_0", "gen_4", "gen_5"]
    assert hidden(tmp_path / "run") == []
    assert [row["iteration"] for row in rows(tmp_path / "run" / "metrics.jsonl")] == [1, 2, 3, 4, 5]
    summary = RunDir(tmp_path / "run").read_summary()
    assert (summary["finished"], summary["restarts"]) == (True, 0)
    assert [finding for finding in summary["health"] if finding["name"] == "not_saved"] == []
    assert "Elo Leaderboard" in text


def test_a_disk_that_stays_full_is_how_the_run_ends(tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        disk = Disk(patch, *WRITING)
        at_call(patch, Learner, "update", 3, disk.fill)
        with pytest.raises(DiskError) as caught:
            train(run, *SIZE, "--track-elo")
    for part in ("the state of training (cannot write ", "the generation (", "rating games (", "summary.json ("):
        assert part in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert "The newest state on the disk is of iteration 2" in str(caught.value)
    assert caught.value.exit_code == 1
    assert not RunDir(run).summary_json.exists()
    assert states(run) == ["iter_0", "iter_2"]
    assert load_latest_learner(RunDir(run)).skipped == ()
    for one in list_generations(RunDir(run)):
        load_generation(one.path)
    code, _ = train(run, resume=True)  # there is room again
    assert code == 0
    assert RunDir(run).read_summary()["finished"]
    assert [row["iteration"] for row in rows(run / "metrics.jsonl")] == [1, 2, 3, 4, 5]


def test_a_run_that_cannot_begin_to_save_ends_at_once(tmp_path, monkeypatch):
    disk = Disk(monkeypatch, "fsync")
    at_call(monkeypatch, Learner, "policy", 1, disk.fill)
    with pytest.raises(SelfPlayError, match=r"the run failed: .*gen_0: OSError: .*No space left"):
        train(tmp_path / "run", *SIZE)


def test_a_bug_is_no_full_disk(tmp_path, monkeypatch):
    """What is no fault of the disk still costs the learner its life, and is repaired by its supervisor."""

    def broken(_):
        raise ValueError("no such key")

    at_call(monkeypatch, Learner, "arrays", 2, broken)
    code, text = train(tmp_path / "run", *SIZE)
    assert code == 0
    assert "learner failed: ValueError: no such key; it is replaced" in text
    assert "DISK" not in text


@pytest.mark.full
def test_a_really_full_disk(tmp_path):
    """A small disk of its own, filled up while a run is going on, and then not."""
    if sys.platform != "linux":
        pytest.skip("a small disk is mounted as Linux does it")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = finish(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(folder)])
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        size = ("--num-games", 2, "--rollout-length", 16, "--max-episode-frames", 120, "--hidden", 64)
        process = start(
            "train_self_play.py", "--game-type", "mock", "--checkpoint", folder / "run", *size, "--ppo-epochs", 1,
            "--save-interval", 5, "--set", "run.keep_checkpoints=1", "--timesteps", 10**6, "--host", "thread",
            cwd=tmp_path,
        )  # fmt: skip
        with process:
            read_until(process, "Iter 2:")
            fill(folder / "filler")
            read_until(process, "DISK: ")
            (folder / "filler").unlink()
            read_until(process, "Disk: there is space again")
            process.send_signal(2)
            process.stdout.read()
        assert process.returncode == 130
        run = RunDir(folder / "run")
        with run.lock():
            assert load_latest_learner(run).skipped == ()
        assert hidden(folder) == []
        assert rows(run.metrics)
    finally:
        finish(["umount", str(folder)], check=True)


def fill(path):
    """Take all the room that is left."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (2**20, 4096):
            try:
                while os.write(handle, b"x" * size):
                    pass
            except OSError:
                pass
    finally:
        os.close(handle)
