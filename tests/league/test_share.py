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


def test_pairs_that_cancel_out_are_not_taken_for_more_games():
    points = np.tile([1.0, 0.0], 50)
    assert score_interval(points, np.repeat(np.arange(50), 2)) == score_interval(points)


@pytest.mark.parametrize("points", [[], [1.5], [float("nan")]])
def test_what_is_no_series_of_games_is_refused(points):
    with pytest.raises(LeagueError, match="at least one game"):
        score_interval(points)
