import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league.bradley_terry import expected_scores, maximise, table

# Five players, wildly unequal numbers of games and hardly a point lost: a plain Newton step overshoots here.
LOPSIDED = np.array(
    [
        [0.0, 0.5, 0.5, 990.5, 10000.5],
        [10000.5, 0.0, 0.0, 0.0, 100.0],
        [0.5, 1.0, 0.0, 0.0, 10000.0],
        [10.5, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.0, 0.0, 0.0, 0.0],
    ]
)


def fixed(*players):
    """Strength 0 of those, the others unknown."""
    return np.where(np.isin(np.arange(5), players), 0.0, np.nan)


@pytest.mark.parametrize("anchor", range(5))
def test_the_maximum_is_found_from_any_anchor(anchor):
    met = LOPSIDED + LOPSIDED.T
    strength = maximise(met, LOPSIDED, fixed(anchor))
    assert strength[anchor] == 0.0
    slope = (LOPSIDED - met * expected_scores(strength)).sum(axis=1)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    np.testing.assert_allclose(strength - strength[0], maximise(met, LOPSIDED, fixed(0)), atol=1e-6)


def test_a_fit_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr(np.linalg, "solve", lambda hessian, slope: np.full_like(slope, 1e-3))
    with pytest.raises(LeagueError, match="5 players did not converge"):
        maximise(LOPSIDED + LOPSIDED.T, LOPSIDED, fixed(0))


def test_expected_scores_share_one_point_however_far_apart():
    expected = expected_scores(np.array([0.0, 1.0, -800.0, 800.0]))
    np.testing.assert_allclose(expected + expected.T, 1.0)
    assert np.isfinite(expected).all()


def test_tables_sum_by_ordered_pair():
    seats = np.array([[0, 1], [1, 0], [0, 1], [2, 1]])
    np.testing.assert_array_equal(
        table(seats, np.array([1.0, 2.0, 3.0, 4.0]), 3), [[0.0, 4.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    )
