"""Which states stay: each part of the rule alone, all together, and that nothing goes before a newer one verifies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.checkpoint import Retention, RunDir, learner_state, load_latest_learner, named_by_states, retain
from selfplay.checkpoint.learner_state import save_learner
from selfplay.errors import CheckpointError, DiskError
from tests.checkpoint.samples import full_disk, learner_arrays, learner_meta

NUMBERS = [0, 3, 6, 9, 12, 15, 18]


def kept(numbers=NUMBERS, bad=(), **rule):
    return sorted(Retention(**rule).kept(numbers, [n for n in sorted(numbers, reverse=True) if n not in bad]))


def test_the_newest():
    assert kept() == [15, 18]
    assert kept(newest=1) == [18]
    assert kept(newest=99) == NUMBERS
    with pytest.raises(CheckpointError, match="at least one state must be kept, not 0"):
        Retention(newest=0)


def test_damaged_ones_do_not_count():
    assert kept(bad=[18, 12]) == [9, 12, 15, 18]
    assert kept(bad=NUMBERS[1:]) == NUMBERS, "where fewer verify than are to be kept, all stay"


def test_the_first_of_every_so_many_iterations():
    assert kept(newest=1, every=5) == [0, 6, 12, 15, 18]
    assert kept(newest=1, every=100) == [0, 18]


def test_the_best():
    assert kept(best=[9]) == [9, 15, 18]
    assert kept(best=[7]) == [15, 18], "its state is gone already"


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(1, 5), st.integers(0, 50), st.sets(st.integers(0, 300)))
def test_together_each_keeps_what_it_keeps_alone(numbers, newest, every, best):
    alone = [kept(numbers, newest=newest), kept(numbers, newest=1, every=every), kept(numbers, newest=1, best=best)]
    assert kept(numbers, newest=newest, every=every, best=best) == sorted({n for part in alone for n in part})


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(1, 3), st.integers(1, 50))
def test_for_ever_is_for_ever(numbers, newest, every):
    """Saving one after the other keeps the same as a look at all of them."""
    there = []
    for number in sorted(numbers):
        there = kept([*there, number], newest=newest, every=every)
    assert there == kept(numbers, newest=newest, every=every)


@pytest.fixture
def run(tmp_path):
    return RunDir(tmp_path / "run")


def states(run):
    return sorted(int(path.name.removeprefix("iter_")) for path in run.learner.iterdir())


def save(run, *numbers, rule=Retention(99)):  # noqa: B008
    for number in numbers:
        meta = learner_meta(number, generations=(f"gen_{number}",), extra={"exploiters": [f"main_exploiter_{number}"]})
        save_learner(run, meta, learner_arrays(number), rule)


def test_nothing_goes_before_a_newer_one_verifies(run, monkeypatch):
    save(run, 1, 2, 3)
    real = learner_state.write_folder

    def careless(path, files, replace):
        real(path, files, replace)
        (path / "params.safetensors").write_bytes(b"torn")

    monkeypatch.setattr(learner_state, "write_folder", careless)
    with pytest.raises(CheckpointError, match="iter_4"):
        save(run, 4, rule=Retention(1))
    assert states(run) == [1, 2, 3, 4]
    assert load_latest_learner(run).meta.iteration == 3


def test_what_cannot_be_removed_is_an_error_of_the_disk_and_goes_the_next_time(run):
    save(run, 1, 2, 3)
    with full_disk("rename", 0), pytest.raises(DiskError, match=r"cannot remove .*iter_2"):
        retain(run, 3, Retention(1))
    assert states(run) == [1, 2, 3]
    retain(run, 3, Retention(1))
    assert states(run) == [3]


def test_states_name_whom_they_go_on_with(run):
    save(run, 1, 2, 3)
    assert named_by_states(run) == {f"{kind}_{n}" for kind in ("gen", "main_exploiter") for n in (1, 2, 3)}
    (run.learner / "iter_2" / "learner.json").write_bytes(b"torn")
    assert named_by_states(run) == {f"{kind}_{n}" for kind in ("gen", "main_exploiter") for n in (1, 3)}
    assert named_by_states(RunDir(run.path / "none")) == set()
