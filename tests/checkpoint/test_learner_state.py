"""Training resumes from the newest state that verifies; retention never leaves it without one."""

import errno
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from selfplay.checkpoint import (
    Retention,
    RunDir,
    group,
    learner_state,
    load_latest_learner,
    named_by_states,
    save_learner,
)
from selfplay.checkpoint.documents import encode_json, to_document
from selfplay.errors import CheckpointError, CorruptError, DiskError, IncompatibleError, NotARunError
from tests.checkpoint.samples import Crash, crash_at, files_of, forge, full_disk, learner_arrays, learner_meta, same
from tests.support.processes import finish


@pytest.fixture
def run(tmp_path):
    return RunDir(tmp_path / "run")


def save(run, *iterations, keep=2):
    for iteration in iterations:
        path = save_learner(run, learner_meta(iteration), learner_arrays(iteration), Retention(keep))
    return path


def states(run):
    return sorted(path.name for path in run.learner.iterdir())


def damage(path):
    file = path / "params.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_a_state_comes_back(run):
    meta = learner_meta(
        7,
        config={"seed": 1},
        matchmaker={"history": ["gen_0", "gen_5"]},
        opponents={"runner-000": ["gen_5", "rusher"]},
        ledger_position=12,
        generations=("gen_0", "gen_5"),
        extra={"kl": 0.01},
    )
    path = save_learner(run, meta, learner_arrays(7))
    state = load_latest_learner(run)
    assert path == state.path == run.learner / "iter_7"
    assert state.meta == meta
    assert same(state.arrays, learner_arrays(7))
    assert state.skipped == ()
    assert sorted(file.name for file in path.glob("*.safetensors")) == [
        "games.safetensors", "optimizer.safetensors", "params.safetensors",
    ]  # fmt: skip


def test_a_generator_continues_where_it_was(run):
    rng = np.random.default_rng(5)
    rng.normal(size=10)
    save_learner(run, learner_meta(1, rng={"games": rng.bit_generator.state}), {})
    again = np.random.default_rng()
    again.bit_generator.state = load_latest_learner(run).meta.rng["games"]
    np.testing.assert_array_equal(again.normal(size=5), rng.normal(size=5))


def test_a_group_is_what_lies_below_a_prefix():
    arrays = {
        "games/r1/x": np.zeros(1),
        "games/r10/x": np.ones(1),
        "games/r1/deep/y": np.zeros(2),
        "games": np.zeros(3),
    }
    assert list(group(arrays, "games/r1")) == ["x", "deep/y"]
    assert list(group(arrays, "games/r1/")) == ["x", "deep/y"]
    assert list(group(arrays, "games")) == ["r1/x", "r10/x", "r1/deep/y"]
    assert group(arrays, "nothing") == {}


def test_the_newest_states_are_kept(run):
    save(run, 1, 2, 9, 10)
    assert states(run) == ["iter_10", "iter_9"]
    save(run, 11, keep=1)
    assert states(run) == ["iter_11"]
    save(run, 12, 13, 14, keep=3)
    assert states(run) == ["iter_12", "iter_13", "iter_14"]
    with pytest.raises(CheckpointError, match="at least one"):
        save(run, 15, keep=0)


def test_a_state_may_be_saved_again(run):
    save(run, 1, 2)
    save_learner(run, learner_meta(2, elapsed_s=9.0), learner_arrays(5))
    state = load_latest_learner(run)
    assert state.meta.elapsed_s == 9.0
    assert same(state.arrays, learner_arrays(5))
    assert states(run) == ["iter_1", "iter_2"]


@pytest.mark.parametrize("file", ["learner.json", "params.safetensors", "games.safetensors", "MANIFEST.json"])
def test_a_bad_newest_state_falls_back_and_says_so(run, file):
    save(run, 1)
    newest = save(run, 2)
    (newest / file).write_bytes((newest / file).read_bytes()[:-2])
    state = load_latest_learner(run)
    assert state.meta.iteration == 1
    assert same(state.arrays, learner_arrays(1))
    (report,) = state.skipped
    assert report.startswith("iter_2: ")
    assert file in report


def test_without_any_good_state_each_fault_is_told(run):
    for iteration in (1, 2):
        damage(save(run, iteration))
    with pytest.raises(CorruptError, match=r"iter_2: .*params.*; iter_1: .*params"):
        load_latest_learner(run)


def test_without_any_state_there_is_nothing_to_resume(run):
    with pytest.raises(NotARunError, match="ended before its first checkpoint"):
        load_latest_learner(run)


def test_a_state_of_a_newer_version_is_not_passed_over(run):
    save(run, 1)
    newest = save(run, 2)
    forge(newest, learner__json=encode_json(to_document(learner_meta(2)) | {"format_version": 9}, "x"))
    with pytest.raises(IncompatibleError, match="newer selfplay"):
        load_latest_learner(run)


def test_a_renamed_state_is_noticed(run):
    save(run, 1)
    shutil.copytree(run.learner / "iter_1", run.learner / "iter_900")
    state = load_latest_learner(run)
    assert state.meta.iteration == 1
    assert "holds the state of iteration 1" in state.skipped[0]


def test_bad_states_do_not_count_as_kept(run):
    save(run, 1)
    damage(save(run, 2))
    save(run, 3)
    assert states(run) == ["iter_1", "iter_2", "iter_3"]
    save(run, 4)
    assert states(run) == ["iter_3", "iter_4"]


def test_states_of_an_abandoned_future_go(run):
    save(run, 10)
    damage(save(run, 20))
    assert load_latest_learner(run).meta.iteration == 10
    save(run, 11)
    assert states(run) == ["iter_10", "iter_11"]


def test_nothing_is_deleted_before_the_new_state_verifies(run, monkeypatch):
    save(run, 1, 2)
    real = learner_state.write_folder

    def careless(path, files, replace):
        real(path, files, replace=replace)
        damage(path)

    monkeypatch.setattr(learner_state, "write_folder", careless)
    with pytest.raises(CorruptError, match="iter_3"):
        save(run, 3)
    assert states(run) == ["iter_1", "iter_2", "iter_3"]
    assert load_latest_learner(run).meta.iteration == 2


@pytest.mark.parametrize("iteration", [2, 3])
def test_a_crash_at_any_step_loses_no_saved_state(tmp_path, iteration):
    for step in range(300):
        run = RunDir(tmp_path / str(step))
        save(run, 1, 2)
        try:
            with crash_at(step):
                save_learner(run, learner_meta(iteration, elapsed_s=77.0), learner_arrays(77))
        except Crash:
            state = load_latest_learner(run)
            assert state.skipped == ()
            assert (state.meta.iteration, state.meta.elapsed_s) in ((2, 1.5), (iteration, 77.0))
            assert same(state.arrays, learner_arrays(2 if state.meta.elapsed_s == 1.5 else 77))
            assert all(name.startswith("iter_") for name in states(run))
        else:
            break
    assert step > 20


def test_a_full_disk_keeps_the_old_states(run):
    save(run, 1, 2)
    for operation in ("write", "fsync"):
        with full_disk(operation, 2), pytest.raises(CheckpointError, match=r"cannot write .*iter_3.*No space left"):
            save(run, 3)
        assert states(run) == ["iter_1", "iter_2"]
        assert load_latest_learner(run).meta.iteration == 2
    save(run, 3)


def test_every_file_may_be_damaged_anywhere(run):
    path = save(run, 1)
    for file in files_of(path):
        data = file.read_bytes()
        for position in range(0, len(data), 11):
            file.write_bytes(data[:position] + bytes([data[position] ^ 0x04]) + data[position + 1 :])
            with pytest.raises(CorruptError, match="iter_1"):
                load_latest_learner(run)
        file.write_bytes(data)
    assert load_latest_learner(run).meta.iteration == 1


def test_a_trainer_that_is_killed_never_loses_what_it_saved(tmp_path):
    """Thirty processes save without pause and are killed (SIGKILL) somewhere; see ``kill_loop.py``."""
    script = Path(__file__).with_name("kill_loop.py")
    done = finish([sys.executable, str(script), str(tmp_path / "run"), "30"], cwd=script.parents[2])
    assert done.returncode == 0, done.stderr
    kills, midway, iteration = map(int, done.stdout.split())
    assert kills == 30
    assert midway > 5, "some kills must have hit a save in progress"
    assert iteration > 5


def test_what_cannot_be_read_now_is_no_damage(run, monkeypatch):
    """Too many open files: going on from an older state would lose the newest one."""
    save_learner(run, learner_meta(1), learner_arrays())
    save_learner(run, learner_meta(2), learner_arrays())
    opened = os.open

    def refuse(path, *arguments, **keywords):
        if "iter_2" in str(path):
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr("selfplay.games.files.os.open", refuse)
    with pytest.raises(DiskError, match=r"cannot read .*iter_2.* now: .*Too many open files"):
        load_latest_learner(run)
    with pytest.raises(DiskError):
        named_by_states(run)
    monkeypatch.undo()
    assert load_latest_learner(run).meta.iteration == 2
