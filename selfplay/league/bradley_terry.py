"""The Bradley-Terry fit: from tables of pairwise results to strengths and their covariance.

Player i has strength t_i, and E[score of i against j] = 1 / (1 + exp(t_j - t_i)). The log-likelihood of all scores is
sum over pairs won_ij log p_ij + won_ji log p_ji. It is concave, and with a prior that ties each player to the anchor
its maximum is unique.

The covariance is the cluster-robust one, H^-1 M H^-1. H is the Hessian. M sums squared residuals by cluster, where a
cluster is all games of two players on one seed: such games are correlated, and draws make a game less noisy than a
coin flip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.errors import LeagueError

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, Ints

_PSEUDO: Final = 0.5
"""Prior information, in p(1 - p) units, that shrinks the noise of a pair towards that of all pairs, and that of all
pairs towards a coin flip's. It is worth two even games. Without it ten draws would have zero error."""

_LONGEST: Final = 4.0
"""Largest Newton step, in units of strength. A larger one can land where the likelihood is flat."""
_RIDGE: Final = 1e-9  # keeps the Hessian invertible in floating point, with no measurable effect on the result


def table(seats: Ints, values: Floats, size: int) -> Floats:
    """[size, size] sums of ``values`` [N] by (first, second) player of ``seats`` [N, 2]."""
    flat = np.bincount(seats[:, 0] * size + seats[:, 1], weights=values, minlength=size * size)
    return np.asarray(flat, dtype=np.float64).reshape(size, size)


def expected_scores(strength: Floats) -> Floats:
    """[n, n] expected score of the row's player against the column's."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (strength[:, None] - strength[None, :]))))


def maximise(met: Floats, won: Floats, known: Floats) -> Floats:
    """Maximum-likelihood strengths [n], some of them fixed, by Newton's method with step halving.

    Args:
        met: [n, n] games between two players, virtual ones included.
        won: [n, n] score of the row's player against the column's.
        known: [n] fixed strengths, at least one; NaN for players to fit.

    Raises:
        LeagueError: the fit did not converge.
    """
    free = np.isnan(known)
    strength = np.where(free, 0.0, known)
    pairs = np.argwhere(met).astype(np.int64)  # sparse: most pairs have not met
    first, second = pairs.T
    games, points = met[first, second], won[first, second]
    value = _log_likelihood(strength, pairs, points)
    for _ in range(200):
        lead = np.tanh(0.5 * (strength[first] - strength[second]))
        slope = np.bincount(first, points - games * 0.5 * (1.0 + lead), minlength=len(met))
        weights = np.zeros_like(met)
        weights[first, second] = games * 0.25 * (1.0 + lead) * (1.0 - lead)
        step = np.zeros_like(strength)
        step[free] = np.linalg.solve(_hessian(weights, free), slope[free])
        length = float(np.abs(step).max(initial=0.0))
        if length < 1e-7:  # convergence is quadratic
            return strength + step
        step *= min(1.0, _LONGEST / length)
        while (better := _log_likelihood(strength + step, pairs, points)) < value - 1e-12 * abs(value):
            step /= 2.0
        strength, value = strength + step, better
    raise LeagueError(f"the rating fit of {len(met)} players did not converge")


def response(strength: Floats, met: Floats, free: Bools) -> Floats:
    """[f, n - f] change of each ``free`` player's fitted strength with the strength of each fixed one.

    Args:
        strength: [n] result of ``maximise``.
        met: [n, n] games between two players, virtual ones included.
        free: [n] the players that were fitted.
    """
    expected = expected_scores(strength)
    weights = met * expected * expected.T
    return np.asarray(np.linalg.solve(_hessian(weights, free), weights[np.ix_(free, ~free)]))


def _log_likelihood(strength: Floats, pairs: Ints, points: Floats) -> float:
    """Sum of won_ij log p_ij over ``pairs`` [P, 2] with scores ``points`` [P] of the first player."""
    return -float(np.sum(points * np.logaddexp(0.0, strength[pairs[:, 1]] - strength[pairs[:, 0]])))


def _laplacian(weights: Floats) -> Floats:
    """Sum over pairs of players of weight * (e_i - e_j)(e_i - e_j)^T, from a symmetric [n, n]."""
    found = -weights
    found[np.diag_indices_from(found)] += weights.sum(axis=1)
    return np.asarray(found)


def _hessian(weights: Floats, free: Bools) -> Floats:
    """Laplacian restricted to the ``free`` players, plus a ridge."""
    found = _laplacian(weights)[free][:, free]
    found[np.diag_indices_from(found)] += _RIDGE
    return found


def robust_covariance(
    strength: Floats, seats: Ints, points: Floats, pairs: Ints, met: Floats, ties: Floats, free: Bools
) -> Floats:
    """[n, n] H^-1 M H^-1; rows and columns of players that are not ``free`` are zero.

    Each cluster adds its squared summed residual to the entry of its pair of players. Entries are divided by
    1 - leverage (MacKinnon and White's HC2), which corrects the bias towards zero with few games.
    """
    size = len(strength)
    expected = expected_scores(strength)
    noise = expected * expected.T
    inverse = np.zeros((size, size))
    inverse[np.ix_(free, free)] = np.linalg.inv(_hessian((met + ties) * noise, free))
    squares, clusters = _squared_residuals(expected, seats, points, pairs)
    model = met * noise
    spread = np.diag(inverse)[:, None] + np.diag(inverse)[None, :] - 2.0 * inverse
    leverage = np.minimum(model * spread / np.maximum(clusters, 1.0), 0.75)
    squares = squares / (1.0 - leverage)
    overall = (squares.sum() / 2.0 + _PSEUDO) / (model.sum() / 2.0 + _PSEUDO)
    ratio = (squares + _PSEUDO * overall) / (model + _PSEUDO)
    meat = _laplacian(ratio * model + ties * noise)
    return inverse @ meat @ inverse


def _squared_residuals(expected: Floats, seats: Ints, points: Floats, pairs: Ints) -> tuple[Floats, Floats]:
    """Two symmetric [n, n] tables: squared residuals summed over clusters, and the number of clusters."""
    size = len(expected)
    first, second = seats[:, 0], seats[:, 1]
    side = np.where(first < second, 1.0, -1.0)  # express all residuals of a pair for the same player
    residual = side * (points - expected[first, second])
    _, where, cluster = np.unique(pairs, return_index=True, return_inverse=True)
    total = np.bincount(cluster, weights=residual, minlength=len(where)).astype(np.float64)
    ends = seats[where]
    squares, clusters = table(ends, total**2, size), table(ends, np.ones(len(where)), size)
    return squares + squares.T, clusters + clusters.T
