"""What ratings cannot explain is found, and what they can is left alone: measured over many made-up pools."""

import itertools

import numpy as np
import pytest

from selfplay.league.diagnosis import Misfit, diagnose, widened
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.league.ratings import rate
from selfplay.league.scale import ELO
from tests.league.pools import record, series, tournament
from tests.support.cases import first_alone

POOL = {"random": 1500.0} | {f"gen_{i}": 1440.0 + 30.0 * i for i in range(9)}
EQUAL = dict.fromkeys(POOL, 1500.0)
EVERYBODY = tuple(itertools.combinations(POOL, 2))


def cyclic(size, p, rounds, rng, side=0.0):
    """Everybody beats the half of the others that follow it in a circle, with probability ``p``; nobody is stronger."""
    rows = []
    for seed, (i, j, _) in enumerate(itertools.product(range(size), range(size), range(rounds))):
        if i >= j:
            continue
        chance = 1.0 - p if (j - i) <= (size - 1) // 2 else p  # of i
        for first in (True, False):
            logit = np.log(chance / (1.0 - chance)) + (side if first else -side)
            won = rng.random() < 1.0 / (1.0 + np.exp(-logit))
            rows.append(((i, j) if first else (j, i), 1.0 if won == first else 0.0, seed))
    seats = np.array([row[0] for row in rows])
    return GameTable(
        players=("random", *(f"gen_{i}" for i in range(size - 1))),
        groups=("abc/stochastic",),
        seats=seats,
        versions=np.zeros_like(seats),
        scores=np.array([row[1] for row in rows]),
        pairs=np.array([row[2] for row in rows]),
        group=np.zeros(len(seats), dtype=np.int64),
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("draws", first_alone([0.3, 0.0, 0.6, 0.9]))
def test_intervals_hold_the_truth_in_95_of_100_cases(draws):
    """10 players, 20 seat-swapped pairs of games each against each, 600 ledgers."""
    rng = np.random.default_rng(7)
    names = rate(tournament(POOL, EVERYBODY, 1, rng)).players
    truth = np.array([POOL[name] for name in names])
    inside = []
    for _ in range(600):
        ratings = rate(tournament(POOL, EVERYBODY, 20, rng, draws))
        inside.append(((ratings.low <= truth) & (truth <= ratings.high))[1:].mean())
    assert 0.93 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize("luck", [0.0, 0.7])
def test_a_transitive_pool_does_not_alarm(draws, luck):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(150):
        games = tournament(POOL, EVERYBODY, 20, rng, draws, luck)
        found.append(diagnose(rate(games), games).misfit.p)
    found = np.array(found)
    assert (found < 1e-3).mean() <= 0.02
    assert 0.35 <= found.mean() <= 0.65  # about uniform
    assert (found < 0.05).mean() <= 0.14


def test_a_cyclic_pool_is_flagged_with_a_cycle():
    games = cyclic(9, 0.7, 20, np.random.default_rng(2))
    ratings = rate(games)
    found = diagnose(ratings, games)
    assert found.misfit.p < 1e-3
    cycle = found.cycles[0]
    assert min(cycle.scores) > 0.55
    pairs = {(e.a, e.b): e.score for e in found.encounters} | {(e.b, e.a): 1.0 - e.score for e in found.encounters}
    a, b, c = cycle.players
    assert cycle.scores == pytest.approx((pairs[a, b], pairs[b, c], pairs[c, a]))
    board = build(games)
    assert any("depends on the pairing" in warning for warning in board.warnings)
    assert max(row.nash for row in board.rows) < 0.5
    assert all(row.ranks == (1, 9) for row in board.rows)  # though its players are all alike strong


def test_intervals_hold_the_misfit():
    games = cyclic(9, 0.8, 20, np.random.default_rng(0))
    ratings = rate(games)
    misfit = diagnose(ratings, games).misfit
    wide = widened(ratings, misfit)
    assert misfit.chi2 > 2 * misfit.df
    assert wide.se**2 == pytest.approx(ratings.se**2 * misfit.chi2 / misfit.df)
    assert (wide.rating == ratings.rating).all()
    row = next(row for row in build(games).rows if row.policy == "gen_3")
    assert row.high - row.low == pytest.approx(float((wide.high - wide.low)[wide.index("gen_3")]))
    for none in (None, Misfit(chi2=5.0, df=10, p=0.9, dispersion=1.0, excess=0.5)):
        assert (widened(ratings, none).cov == ratings.cov).all()


def test_residuals_are_those_of_the_pairs():
    games = GameTable.of(series([("gen_0", "random", "win")] * 30 + [("gen_0", "random", "loss")] * 10))
    (one,) = diagnose(rate(games), games).encounters
    assert (one.a, one.b, one.games, one.seeds) == ("random", "gen_0", 40, 40)
    assert one.score == 0.25
    assert one.expected == pytest.approx(0.25, abs=0.01)
    assert abs(one.z) < 0.2


@pytest.mark.parametrize("worth", [0.0, 60.0])
def test_what_the_first_seat_is_worth_is_found(worth):
    rng, inside, alarms = np.random.default_rng(4), [], []
    for _ in range(60):
        games = cyclic(6, 0.5, 40, rng, side=worth / ELO)
        side = diagnose(rate(games), games).side
        inside.append(side.low <= worth <= side.high)
        alarms.append(abs(side.z) > 3.0)
    assert np.mean(inside) >= 0.88
    assert np.mean(alarms) >= 0.95 if worth else np.mean(alarms) <= 0.05


@pytest.mark.no_cover
@pytest.mark.full
def test_ten_equal_players_are_called_equal():
    rng, equal = np.random.default_rng(9), []
    for _ in range(100):
        board = build(tournament(EQUAL, EVERYBODY, 20, rng, 0.3))
        equal.append(all(row.ranks == (1, 10) for row in board.rows))
    assert np.mean(equal) >= 0.9


def test_players_of_different_strength_are_told_apart():
    far = {"random": 1500.0, "gen_0": 1700.0, "gen_1": 1900.0}
    board = build(tournament(far, itertools.combinations(far, 2), 60, np.random.default_rng(0)))
    assert [row.ranks for row in board.rows] == [(1, 1), (2, 2), (3, 3)]
    assert [row.above_next for row in board.rows[:2]] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert board.rows[-1].above_next is None
    assert board.rows[0].nash > 0.95


def test_a_ladder_of_neighbours_is_flagged():
    chain = list(itertools.pairwise(POOL))
    rng = np.random.default_rng(3)
    assert any(w.startswith("Chained") for w in build(tournament(POOL, chain, 30, rng)).warnings)
    assert not any(w.startswith("Chained") for w in build(tournament(POOL, EVERYBODY, 5, rng)).warnings)


def test_too_few_games_say_nothing():
    assert diagnose(rate(GameTable.of([])), GameTable.of([])).misfit is None
    games = GameTable.of([record("gen_0", "random")])
    assert diagnose(rate(games), games).misfit is None
    assert build(games).fit.misfit_p is None


@pytest.mark.parametrize("pins", [{}, {"gen_1": 1530.0, "gen_3": 1530.0, "gen_5": 1590.0, "gen_7": 1590.0}])
def test_the_misfit_knows_what_was_given_and_what_was_fitted(pins):
    """Under true pins the p values stay uniform; each pair of pinned players is a degree of freedom of its own."""
    rng = np.random.default_rng(3)
    truth = POOL | pins
    found = []
    for _ in range(300):
        games = tournament(truth, EVERYBODY, 20, rng)
        found.append(diagnose(rate(games, anchors=pins), games).misfit)
    assert found[0].df == len(EVERYBODY) - (len(POOL) - 1 - len(pins))
    assert np.mean([misfit.p < 0.1 for misfit in found]) == pytest.approx(0.1, abs=0.055)
    assert np.mean([misfit.p > 0.5 for misfit in found]) == pytest.approx(0.5, abs=0.13)
