import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay.league.ratings import expected_score
from selfplay.league.sprt import SprtBounds, sprt


def outcomes(elo, pairs, draws, rng):
    """Scores [pairs, 2] of a player that is stronger by ``elo``, in games that share nothing."""
    p = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    half = draws * min(p, 1.0 - p)
    luck = rng.random((pairs, 2))
    return np.where(luck < p - half, 1.0, np.where(luck < p + half, 0.5, 0.0))


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize(("elo", "wrong"), [(0.0, "accepted"), (30.0, "rejected")])
def test_it_errs_as_seldom_as_it_says(elo, wrong, draws):
    rng = np.random.default_rng(3)
    errors = 0
    for _ in range(150):
        scores = outcomes(elo, 3000, draws, rng)
        for pairs in range(20, 3001, 20):
            test = sprt(scores[:pairs].ravel(), np.repeat(np.arange(pairs), 2))
            if test.state != "open":
                break
        assert test.state != "open"
        errors += test.state == wrong
    assert errors / 150 <= 0.1  # 5%, and three standard errors


@pytest.mark.parametrize(("elo", "wrong"), [(0.0, "accepted"), (30.0, "rejected")])
def test_it_errs_no_more_where_a_seat_nearly_always_wins(elo, wrong):
    rng = np.random.default_rng(3)
    middle = expected_score(elo, 0.0)
    errors = 0
    for _ in range(150):
        scores = (rng.random((2000, 2)) < [middle + 0.45, middle - 0.45]).astype(float)
        states = (sprt(scores[:pairs].ravel(), np.repeat(np.arange(pairs), 2)).state for pairs in range(10, 2001, 10))
        errors += next(state for state in states if state != "open") == wrong
    assert errors / 150 <= 0.1


def test_draws_settle_it_sooner():
    """Half the points are half the points, but with draws they are known better."""
    even, drawn = np.tile([1.0, 0.0], 50), np.full(100, 0.5)
    assert abs(sprt(drawn).llr) > abs(sprt(even).llr)


def test_pairs_that_go_alike_count_as_one_observation():
    scores = np.repeat(outcomes(60.0, 200, 0.0, np.random.default_rng(0))[:, 0], 2)
    alone, paired = sprt(scores), sprt(scores, np.repeat(np.arange(200), 2))
    assert paired.pairs == 200
    assert paired.llr == pytest.approx(alone.llr / 2, rel=0.02)


def test_what_is_still_needed():
    scores = outcomes(40.0, 60, 0.0, np.random.default_rng(5)).ravel()
    test = sprt(scores, np.repeat(np.arange(60), 2))
    assert test.state == "open"
    again = sprt(np.tile(scores, 40)[: 2 * (60 + test.pairs_needed)], np.repeat(np.arange(60 + test.pairs_needed), 2))
    assert abs(again.llr) == pytest.approx(min(abs(again.low), again.high), rel=0.15)
    assert sprt([]).state == "open"
    assert sprt([]).pairs_needed is None
    assert sprt(np.ones(400)).pairs_needed is None  # settled


def test_a_few_wins_settle_nothing():
    assert sprt([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1]).state == "open"


@pytest.mark.parametrize(
    ("numbers", "message"), [((30.0, 0.0), "elo0 must be below elo1"), ((0.0, 30.0, 0.6), "alpha and beta must be")]
)
def test_bad_bounds_are_refused(numbers, message):
    with pytest.raises(ConfigError, match=message):
        SprtBounds(*numbers)
