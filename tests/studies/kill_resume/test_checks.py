"""Each check finds the damage that it is there for, and none in a run that is as it should be."""

import json
import os
import shutil

import numpy as np
import pytest

from scripts.studies.kill_resume.checks import (
    SeenGenerations,
    differences,
    find_faults,
    find_metrics_faults,
    find_restart_faults,
)
from scripts.studies.kill_resume.inspect_run import hidden, inspect_run, unfinished_saves
from selfplay.checkpoint import RunDir, list_generations, save_learner, set_aside_newer
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.report.leaderboard_page.records import RunRecords
from tests.checkpoint.samples import learner_arrays, learner_meta, params, policy_meta, save_generation


def save(run, iteration, *, seed=None, position=0):
    """A generation of an iteration, and a state that goes on with it and those before it."""
    freeze(run, iteration, iteration if seed is None else seed)
    names = tuple(one.id for one in list_generations(run))
    save_learner(run, learner_meta(iteration, generations=names, ledger_position=position), learner_arrays(iteration))


def freeze(run, iteration, seed):
    save_generation(run, policy_meta(iteration), params(seed))


def play(run, match, name, version=None, wall=1.0):
    """A row of the ledger: somebody against a scripted player."""
    if version is None:
        version = read_policy_meta(run.generations / name).weights_hash
    seats = [{"player": name, "version": version}, {"player": "random", "version": "bots-1"}]
    with run.ledger.open("a") as file:
        file.write(json.dumps({"match": match, "seats": seats, "wall": wall}) + "\n")


def remove(path):
    """For good, from a pool that is never thinned."""
    shutil.rmtree(path)


@pytest.mark.parametrize(
    ("iterations", "resumed", "fault"),
    [
        ((1, 2, 3, 4), {2}, None),
        ((2, 3, 6), {1, 5}, None),  # killed after the states of 1 and 5, before their rows
        ((1, 2, 4), {2}, "lacks iterations 3 to 3, but the run did not resume at 3"),
        ((1, 2, 2, 3), {2}, "has an iteration twice"),
        ((1, 3, 2), {2, 3}, "or not in its place"),
    ],
)
def test_rows_that_no_kill_explains_are_found(iterations, resumed, fault):
    found = find_metrics_faults(RunRecords({}, {}, tuple({"iteration": n} for n in iterations)), resumed)
    assert [text for text in found if fault is None or fault not in text] == []
    assert (fault is None) == (not found)


@pytest.fixture
def run(tmp_path):
    """Two states, three generations and two games, as of a run that was killed once."""
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    save(run, 0)
    save(run, 1)
    play(run, "a", "gen_0")
    play(run, "b", "gen_1")
    save(run, 2, position=2)
    return run


@pytest.fixture
def find(run):
    """What is wrong after a change, and after the look before it."""
    seen, before = SeenGenerations(), inspect_run(run)
    seen.add(before)
    assert find_faults(before, before, seen) == []

    def found(**options):
        now = inspect_run(run)
        seen.add(now)
        return find_faults(before, now, seen, **options)

    return found


def test_what_goes_on_as_it_should_has_no_fault(run, find):
    save(run, 3, position=2)
    play(run, "c", "gen_3")
    with run.ledger.open("a") as file:
        file.write('{"match": "d", "se')  # torn
    freeze(run, 4, 4)  # killed before its state
    (run.learner / ".tmp-iter_4").mkdir()
    assert find() == []


def test_a_damaged_state(run, find):
    (run.learner / "iter_2" / "params.safetensors").write_bytes(b"torn")
    assert any("a state is damaged" in fault and "iter_2" in fault for fault in find())


def test_a_damaged_generation(run, find):
    (run.generations / "gen_1" / "params.safetensors").write_bytes(b"torn")
    assert any("a generation is damaged" in fault and "gen_1" in fault for fault in find())


def test_a_lost_state(run, find):
    remove(run.learner / "iter_2")
    assert "the state of iteration 2 is lost: the newest is 1" in find()


def test_no_state_at_all(run, find):
    remove(run.learner)
    assert "the state of iteration 2 is lost: the newest is None" in find()


def test_a_state_that_names_somebody_who_is_gone(run, find):
    remove(run.generations / "gen_1")
    assert "the state of iteration 2 names gen_1, which is missing" in find()


def test_a_state_that_names_somebody_newer(run, find):
    freeze(run, 9, 9)
    save(run, 3, position=2)
    assert "gen_9 is named by a state, but all states are older" in find()


def test_a_generation_with_other_weights(run, find):
    remove(run.generations / "gen_1")
    freeze(run, 1, seed=77)
    found = find()
    assert "gen_1 has other weights than before" in found
    assert any("the ledger has a game of gen_1 with weights" in fault for fault in found)


def test_a_ledger_that_lost_a_game(run, find):
    rows = run.ledger.read_text().splitlines(keepends=True)
    run.ledger.write_text("".join(rows[:1]))
    assert find() == [
        "the first 2 games of the ledger have changed",
        "the state of iteration 2 counts 2 games, the ledger has 1",
    ]


def test_a_ledger_that_changed(run, find):
    run.ledger.write_text(run.ledger.read_text().replace('"a"', '"x"'))
    assert find() == ["the first 2 games of the ledger have changed"]


def test_games_behind_a_state_may_be_played_again_where_that_is_promised(run):
    play(run, "c", "gen_1")
    seen, before = SeenGenerations(), inspect_run(run)
    rows = run.ledger.read_text().splitlines(keepends=True)
    run.ledger.write_text("".join(rows[:2]))
    assert find_faults(before, inspect_run(run), seen, replays=True) == []
    assert find_faults(before, inspect_run(run), seen) != []


def test_a_game_that_is_there_twice(run, find):
    play(run, "b", "gen_1")
    assert find() == ["the ledger has 1 games twice, such as b"]


def test_a_row_that_is_no_game(run, find):
    run.ledger.write_text("{}\n" + run.ledger.read_text())
    assert any("ledger.jsonl:1 is no game: KeyError" in fault for fault in find())


@pytest.mark.parametrize("name", ["gen_1", "gen_40"])
def test_a_game_of_somebody_who_never_was(run, find, name):
    play(run, "c", name, version="f" * 64)
    assert find() == [f"the ledger has a game of {name} with weights ffffffffffff, which it never had"]


def test_a_game_of_somebody_who_has_left(run, find):
    play(run, "c", "gen_1", version="f" * 64)
    remove(run.generations / "gen_1")
    assert any("the ledger has a game of gen_1 with weights ffffffffffff" in fault for fault in find())


def test_a_game_of_somebody_who_was_set_aside(run, find):
    freeze(run, 3, seed=3)
    play(run, "c", "gen_3")
    set_aside_newer(run, 2)
    freeze(run, 3, seed=4)
    assert inspect_run(run).aside
    assert find() == []


def test_states_that_disagree_about_the_ledger(run, find):
    save(run, 3, position=1)
    assert find() == ["a newer state counts fewer games than an older one"]


def test_a_restart_from_the_wrong_state(run):
    before = inspect_run(run)
    assert find_restart_faults(before, 2, before) == []
    assert find_restart_faults(before, None, before) == [], "it was killed before it could say"
    assert find_restart_faults(before, 1, before) == [
        "it resumed at iteration 1, but the newest state that verified was 2"
    ]


def test_what_a_restart_left_behind(run):
    left = run.learner / ".tmp-iter_3"
    left.mkdir()
    (run.path / ".old-summary").mkdir()
    before = inspect_run(run)
    assert find_restart_faults(before, 2, before) == [
        ".old-summary was left behind by a restart",
        "learner/.tmp-iter_3 was left behind by a restart",
    ]
    left.rename(run.path / "elsewhere")
    left.mkdir()  # of a save that is new
    (run.path / ".old-summary").rmdir()
    assert find_restart_faults(before, 2, inspect_run(run)) == []
    assert list(unfinished_saves(run)) == [left]
    assert list(hidden(run)) == [left]


def test_a_state_whose_successor_never_came_counts(run):
    os.rename(run.learner / "iter_2", run.learner / ".old-iter_2")
    assert inspect_run(run).newest == 2
    shutil.copytree(run.learner / ".old-iter_2", run.learner / "iter_2")
    assert sorted(inspect_run(run).states) == [1, 2]


@pytest.mark.parametrize("what", ["nothing", "clock", "ledger", "generations", "arrays", "names", "meta"])
def test_two_runs_are_compared_bit_for_bit(run, tmp_path, what):
    other = RunDir(tmp_path / "other")
    shutil.copytree(run.path, other.path)
    arrays = learner_arrays(2)
    if what == "clock":
        other.ledger.write_text(other.ledger.read_text().replace("1.0", "2.0"))
    if what == "ledger":
        play(other, "c", "gen_0")
    if what == "generations":
        freeze(other, 5, 5)
    if what == "arrays":
        arrays["params/body.0.bias"] = np.nextafter(arrays["params/body.0.bias"], np.float32(9))
    if what == "names":
        del arrays["params/body.0.bias"]
    meta = learner_meta(2, generations=("gen_0", "gen_1", "gen_2"), ledger_position=2 - (what == "meta"))
    save_learner(other, meta, arrays)
    expected = {
        "ledger": ["a difference in the ledger"],
        "generations": ["a difference in the generations"],
        "arrays": ["a difference in params/body.0.bias"],
        "names": ["a difference in the names of arrays", "a difference in params/body.0.bias"],
        "meta": ["a difference in ledger_position"],
    }
    assert differences(run, other) == expected.get(what, [])
