import numpy as np
import pytest

from scripts.studies.rating_fits import left_to_go
from selfplay.league.bradley_terry import (
    UPSETS,
    expected_scores,
    gap_of_score,
    information,
    maximise,
    pull,
    score_of_gap,
)
from selfplay.league.normal_equations import robust_covariance, table
from selfplay.league.ratings import prior_draws
from selfplay.league.scale import ELO_SCALE

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
TIES = 1.0 - np.eye(5)


def fixed(*players):
    """Strength 0 of those, the others unknown."""
    return np.where(np.isin(np.arange(5), players), 0.0, np.nan)


@pytest.mark.parametrize("anchor", range(5))
def test_the_maximum_is_found_from_any_anchor(anchor):
    met = LOPSIDED + LOPSIDED.T
    strength = maximise(met, LOPSIDED, TIES, fixed(anchor))
    assert strength[anchor] == 0.0
    gaps = strength[:, None] - strength[None, :]
    slope = ((LOPSIDED - met * expected_scores(strength)) * pull(gaps)).sum(axis=1)
    slope += (TIES * (0.5 - score_of_gap(gaps, 0.0))).sum(axis=1)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    np.testing.assert_allclose(strength - strength[0], maximise(met, LOPSIDED, TIES, fixed(0)), atol=1e-6)


# Six generations, each game won by the newer one but one, and random beats the newest.
UPSET = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
    ]
)


def test_a_fit_ends_at_a_maximum_where_pairs_are_not_concave():
    ties = prior_draws(["random", *(f"gen_{i}" for i in range(6))], "random", ELO_SCALE)
    ladder = (UPSET + UPSET.T, UPSET, ties, np.where(np.arange(7) == 0, 0.0, np.nan))
    assert left_to_go(maximise(*ladder), ladder) < 1e-9


def test_a_fit_leaves_a_point_halfway_between_two_maxima():
    """A player that wins half of its games against two, one far above and one far below, is like one of them."""
    won = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 5.0], [0.0, 5.0, 0.0]])
    strength = maximise(won + won.T, won, np.zeros((3, 3)), np.array([4.0, np.nan, -4.0]))
    assert strength[1] == pytest.approx(4.0, abs=0.2)


def test_any_number_of_games_can_be_fitted():
    """Without the ridge the Hessian of two players whose own games outweigh all others is singular."""
    met = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1e12], [0.0, 1e12, 0.0]])
    won, known = met / 2.0, np.array([0.0, np.nan, np.nan])
    np.testing.assert_allclose(maximise(met, won, np.zeros((3, 3)), known), 0.0, atol=1e-6)
    seats, pairs = np.array([[0, 1], [1, 2]]), np.array([0, 1])
    far = np.array([0.0, 500.0, 500.0])
    cov = robust_covariance(far, seats, np.array([0.5, 0.5]), pairs, met, np.zeros((3, 3)), np.isnan(known), ELO_SCALE)
    assert np.isfinite(cov).all()


def test_a_fit_that_does_not_converge_is_no_error(monkeypatch):
    monkeypatch.setattr(np.linalg, "solve", lambda hessian, slope: np.full_like(slope, 1e-3))
    assert np.isfinite(maximise(LOPSIDED + LOPSIDED.T, LOPSIDED, TIES, fixed(0))).all()


def test_slope_and_information_are_derivatives():
    gap, h = np.linspace(-9.0, 9.0, 37), 1e-6
    expected = score_of_gap(gap)
    slope = (score_of_gap(gap + h) - score_of_gap(gap - h)) / (2 * h)
    np.testing.assert_allclose(pull(gap), slope / (expected * (1.0 - expected)), atol=1e-8)
    np.testing.assert_allclose(information(gap), slope**2 / (expected * (1.0 - expected)), atol=1e-8)
    np.testing.assert_allclose([gap_of_score(float(score)) for score in expected], gap, atol=1e-6)
    assert gap_of_score(1.0 - UPSETS / 2) is None


def test_a_loss_to_a_far_weaker_player_hardly_lowers_a_rating():
    """Player 0 beats player 1 and loses one game of 50 to player 2, which is 3,000 Elo below player 1."""
    met, won = np.zeros((3, 3)), np.zeros((3, 3))
    met[0, 1] = met[1, 0] = 20.0
    won[0, 1], won[1, 0] = 15.0, 5.0
    known = np.array([np.nan, 0.0, -17.3])
    alone = maximise(met, won, np.zeros((3, 3)), known)[0]
    met[0, 2] = met[2, 0] = 50.0
    won[0, 2], won[2, 0] = 49.0, 1.0
    assert abs(maximise(met, won, np.zeros((3, 3)), known)[0] - alone) < 0.01


def test_expected_scores_share_one_point_however_far_apart():
    expected = expected_scores(np.array([0.0, 1.0, -800.0, 800.0]))
    np.testing.assert_allclose(expected + expected.T, 1.0)
    assert np.isfinite(expected).all()


def test_tables_sum_by_ordered_pair():
    seats = np.array([[0, 1], [1, 0], [0, 1], [2, 1]])
    np.testing.assert_array_equal(
        table(seats, np.array([1.0, 2.0, 3.0, 4.0]), 3), [[0.0, 4.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    )
