import pytest

from tests.trainer.runs import ITERATION, assert_equal_runs, hashes, rows, train

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


def test_another_seed_is_another_run(whole, tmp_path):
    train(tmp_path / "other", *EQUAL, *steps(1), "--seed", "1")
    ours, theirs = hashes(whole), hashes(tmp_path / "other")
    assert ours["gen_0"] != theirs["gen_0"]
    assert rows(whole / "metrics.jsonl")[0] != rows(tmp_path / "other" / "metrics.jsonl")[0]


def test_rating_games_are_played_while_training_and_never_against_oneself(whole):
    games = rows(whole / "ledger.jsonl")
    assert {game["iteration"] for game in games} >= {4, LAST}
    players = [{seat["player"] for seat in game["seats"]} for game in games]
    assert all(len(pair) == 2 for pair in players)
    assert set.union(*players) >= {*GENERATIONS, "random"}
    assert not set.union(*players) & {"current", "idle"}
    metrics = rows(whole / "metrics.jsonl")
    assert sum(row.get("opponents/current", 0) for row in metrics) > 0  # mirror games there were


@pytest.mark.parametrize("stop", [3, 4, 7], ids="interrupted after {} iterations".format)
def test_a_resumed_run_equals_an_uninterrupted_one(whole, tmp_path, stop):
    folder = tmp_path / "run"
    assert train(folder, *EQUAL, *steps(stop))[0] == 0
    assert train(folder, *steps(LAST), resume=True)[0] == 0
    assert_equal_runs(whole, folder, generations=GENERATIONS)


def test_the_host_makes_no_difference_nor_does_changing_it(whole, tmp_path):
    folder = tmp_path / "run"
    assert train(folder, *EQUAL, *steps(6), "--host", "process")[0] == 0
    assert train(folder, *steps(8), "--host", "thread", resume=True)[0] == 0
    assert train(folder, *steps(LAST), "--host", "process", resume=True)[0] == 0
    assert_equal_runs(whole, folder, generations=GENERATIONS)


@pytest.mark.parametrize("mode", ["delta_uniform", "quality", "pfsp", "pfsp_variance"])
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
