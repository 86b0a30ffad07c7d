import numpy as np
import pytest

from selfplay.league.games import GameTable
from selfplay.league.gate import Gate, GateState, head_to_head
from selfplay.league.sprt import SprtBounds
from tests.league.pools import series, tournament

GENERATIONS = ["gen_0", "gen_5", "gen_10"]
WON = [("gen_10", "gen_0", "win"), ("gen_0", "gen_10", "loss")] * 60
LOST = [(b, a, result) for a, b, result in WON]


def gate(**state):
    made = Gate(SprtBounds())
    made.state = GateState(**state)
    return made


def test_the_newest_is_tested_against_the_best():
    assert gate().challenge(GENERATIONS) == ("gen_10", "gen_0")
    assert gate(best="gen_5", tried="gen_5").challenge(GENERATIONS) == ("gen_10", "gen_5")


def test_nothing_newer_means_no_test():
    assert gate().challenge([]) is None
    assert gate().challenge(["gen_0"]) is None
    assert gate(tried="gen_10").challenge(GENERATIONS) is None


def test_a_candidate_stays_until_it_is_decided():
    made = gate()
    made.challenge(GENERATIONS)
    assert made.challenge([*GENERATIONS, "gen_15"]) == ("gen_10", "gen_0")
    made.decide(GameTable.of(series(LOST)))
    assert made.challenge([*GENERATIONS, "gen_15"]) == ("gen_15", "gen_0")


def test_a_candidate_whose_file_is_gone_is_replaced():
    """A learner that crashed goes on from a checkpoint, and later generations are set aside."""
    made = gate(candidate="gen_20", llr=1.0)
    assert made.challenge(GENERATIONS) == ("gen_10", "gen_0")
    assert made.state.llr is None


@pytest.mark.parametrize(("results", "best"), [(WON, "gen_10"), (LOST, "gen_0")])
def test_who_wins_is_best_and_who_does_not_is_tried(results, best):
    made = gate()
    made.challenge(GENERATIONS)
    candidate, test = made.decide(GameTable.of(series(results)))
    assert (candidate, test.state) == ("gen_10", "accepted" if best == "gen_10" else "rejected")
    assert made.state == GateState(best=best, tried="gen_10")
    assert made.challenge(GENERATIONS) is None


def test_an_open_test_shows_where_it_stands():
    made = gate()
    assert made.decide(GameTable.of(series(WON))) is None  # nobody is tested
    made.challenge(GENERATIONS)
    _, test = made.decide(GameTable.of(series(WON[:3])))
    assert test.state == "open"
    assert made.state.llr == test.llr > 0
    assert made.state.candidate == "gen_10"


def test_only_games_of_the_two_count():
    others = [("gen_10", "random", "win"), ("gen_5", "gen_0", "loss"), ("gen_5", "gen_10", "win")]
    points, pairs = head_to_head(GameTable.of(series([*WON[:3], *others])), "gen_10", "gen_0")
    assert points.tolist() == [1, 1, 1]
    assert len(np.unique(pairs)) == 3
    points, _ = head_to_head(GameTable.of(series([*WON[:3], *others])), "gen_0", "gen_10")
    assert points.tolist() == [0, 0, 0]
    assert len(head_to_head(GameTable.of(series(others)), "gen_10", "gen_7")[0]) == 0


@pytest.mark.no_cover
@pytest.mark.parametrize(("elo", "low", "high"), [(0, 0.0, 0.11), (30, 0.89, 1.0)])
def test_errors_are_those_of_the_bounds_though_it_looks_after_every_batch(elo, low, high):
    """Share of generations promoted, 100 tests looked at every 16 games; 5% errors, and what 100 can tell of them."""
    rng = np.random.default_rng(5)
    promoted = 0
    for _ in range(100):
        made = gate()
        made.challenge(["gen_0", "gen_1"])
        everything = tournament({"gen_1": 1500.0 + elo, "gen_0": 1500.0}, [("gen_1", "gen_0")], 3000, rng)
        for seen in range(16, 6001, 16):
            _, test = made.decide(everything.subset(np.arange(6000) < seen))
            if test.state != "open":
                break
        promoted += made.state.best == "gen_1"
    assert low <= promoted / 100 <= high
