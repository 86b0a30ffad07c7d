import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import LeagueError
from selfplay.league.statistics import score_interval


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=300))
def test_the_interval_holds_the_share_and_mirrors(points):
    mine, other = score_interval(points), score_interval([1.0 - point for point in points])
    assert 0.0 <= mine.low <= mine.score <= mine.high <= 1.0
    assert (other.low, other.high) == (pytest.approx(1.0 - mine.high), pytest.approx(1.0 - mine.low))


def test_known_values():
    # Wilson's interval for 95 of 100, and for 200 of 200
    share = score_interval([1.0] * 95 + [0.0] * 5)
    assert (share.low, share.high) == (pytest.approx(0.8883, abs=1e-4), pytest.approx(0.9785, abs=1e-4))
    perfect = score_interval([1.0] * 200)
    assert (perfect.low, perfect.high) == (pytest.approx(0.9812, abs=1e-4), pytest.approx(1.0))


def test_games_that_share_their_luck_count_less():
    points = np.repeat([1.0, 0.0] * 25, 2)
    alike = score_interval(points, np.repeat(np.arange(50), 2))
    apart = score_interval(points, np.arange(100))
    assert alike.high - alike.low == pytest.approx(np.sqrt(2) * (apart.high - apart.low), rel=0.03)
    assert apart == score_interval(points)


def test_pairs_that_cancel_out_leave_the_error_of_what_has_not_been_seen():
    """One seat always wins: 50 pairs of one win each do not exclude that one pair in 14 goes otherwise."""
    points = np.tile([1.0, 0.0], 50)
    alone, paired = score_interval(points), score_interval(points, np.repeat(np.arange(50), 2))
    assert 0.03 < paired.high - 0.5 < 0.05 < alone.high - 0.5


def test_an_interval_excludes_equality_where_the_likelihood_does():
    rng, clear = np.random.default_rng(4), []
    for _ in range(400):
        pairs = int(rng.integers(1, 60))
        points = rng.choice([0.0, 0.5, 1.0], (pairs, 2), p=rng.dirichlet([1.0, 0.5, 1.0]))
        found = score_interval(points, np.repeat(np.arange(pairs), 2))
        clear.append(found.low > 0.5)
        assert (found.low > 0.5) == (found.superiority > 0.975)
        assert (found.high < 0.5) == (found.superiority < 0.025)
    assert 0.2 < np.mean(clear) < 0.8


def independent(u):
    return (u < 0.65).astype(float), 0.65


def drawn(u):
    return np.where(u < 0.3, 1.0, np.where(u < 0.8, 0.5, 0.0)), 0.55


def seat_wins(u):
    """The first seat wins 97% of the games of one player, and 85% of those of the other."""
    return (u < [0.97, 0.15]).astype(float), 0.56


def alike(u):
    """Half of the pairs have one winner in both games."""
    return np.stack([u[..., 0] < 0.6, np.where(u[..., 1] < 0.5, u[..., 0], 2.0 * u[..., 1] - 1.0) < 0.6], -1), 0.6


@pytest.mark.parametrize(("play", "width"), [(independent, 0.19), (drawn, 0.14), (seat_wins, 0.12), (alike, 0.23)])
def test_intervals_hold_what_they_say(play, width):
    rng, runs = np.random.default_rng(5), 2000
    points, truth = play(rng.random((runs, 50, 2)))
    found = [score_interval(each.ravel(), np.repeat(np.arange(50), 2)) for each in points.astype(float)]
    assert 0.935 < np.mean([each.low <= truth <= each.high for each in found]) < 0.975
    assert np.mean([each.high - each.low for each in found]) == pytest.approx(width, abs=0.01)


@pytest.mark.parametrize("points", [[], [1.5], [float("nan")]])
def test_what_is_no_series_of_games_is_refused(points):
    with pytest.raises(LeagueError, match="at least one game"):
        score_interval(points)
