"""Weighted least squares on pairs of players: the Hessian of a fit, its solution, and its robust covariance.

The weights of pairs are tables [n, n]. Residuals are of E[points] as a function of the gap t_i + ``sign`` * t_j; see
``Scale``.

The covariance is the cluster-robust one, H^-1 M H^-1. H is the expected information. M sums squared residuals by
cluster, where a cluster is all games of two players on one seed: such games are correlated, and draws make a game less
noisy than a coin flip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, Ints
    from selfplay.league.scale import Scale

PSEUDO: Final = 0.5
"""Prior information, in p(1 - p) units, that shrinks the noise of a pair towards that of all pairs, and that of all
pairs towards a coin flip's. It is worth two even games. Without it ten draws would have zero error."""
RIDGE: Final = 1e-9  # keeps the Hessian invertible in floating point, with no measurable effect on the result
_ROUNDING: Final = 1e-14  # the same for the largest weights, as a share of them


def table(seats: Ints, values: Floats, size: int) -> Floats:
    """[size, size] sums of ``values`` [N] by (first, second) player of ``seats`` [N, 2]."""
    flat = np.bincount(seats[:, 0] * size + seats[:, 1], weights=values, minlength=size * size)
    return np.asarray(flat, dtype=np.float64).reshape(size, size)


def laplacian(weights: Floats, sign: float = -1.0) -> Floats:
    """Sum over pairs of players of weight * (e_i + sign * e_j)(e_i + sign * e_j)^T, from a symmetric [n, n]."""
    found = sign * weights
    found[np.diag_indices_from(found)] += weights.sum(axis=1)
    return np.asarray(found)


def hessian(weights: Floats, free: Bools, sign: float = -1.0) -> Floats:
    """Laplacian restricted to the ``free`` players, plus a ridge."""
    found = laplacian(weights, sign)[free][:, free]
    diagonal = np.diag_indices_from(found)
    found[diagonal] += max(RIDGE, _ROUNDING * float(found[diagonal].max(initial=0.0)))
    return found


def least_squares(met: Floats, points: Floats, ties: Floats, known: Floats, scale: Scale) -> Floats:
    """Strengths [n] by least squares on payoffs, some of them fixed. Arguments as of ``bradley_terry.maximise``.

    ``points`` [n, n] are those of the row's player against the column's.
    """
    free = np.isnan(known)
    strength = np.where(free, 0.0, known)
    gap = scale.gaps(strength)
    residual = points - met * scale.expected(gap) + ties * (0.5 - scale.expected(gap))
    weights = met * scale.information(gap) + ties * scale.prior_information(gap)
    strength[free] = np.linalg.solve(hessian(weights, free, scale.sign), residual.sum(axis=1)[free])
    return strength


def response(strength: Floats, met: Floats, ties: Floats, free: Bools, scale: Scale) -> Floats:
    """[f, n - f] change of each ``free`` player's fitted strength with the strength of each fixed one.

    Arguments as of ``bradley_terry.maximise``; ``strength`` [n] is the result of the fit.
    """
    gap = scale.gaps(strength)
    weights = met * scale.information(gap) + ties * scale.prior_information(gap)
    return np.asarray(np.linalg.solve(hessian(weights, free, scale.sign), -scale.sign * weights[np.ix_(free, ~free)]))


def robust_covariance(
    strength: Floats,
    seats: Ints,
    points: Floats,
    pairs: Ints,
    met: Floats,
    ties: Floats,
    free: Bools,
    scale: Scale,
) -> Floats:
    """[n, n] H^-1 M H^-1; rows and columns of players that are not ``free`` are zero.

    Each cluster adds its squared summed residual to the entry of its pair of players. Entries are divided by
    1 - leverage (MacKinnon and White's HC2), which corrects the bias towards zero with few games.
    """
    size, gap = len(strength), scale.gaps(strength)
    expected, told, prior = scale.expected(gap), met * scale.information(gap), ties * scale.prior_information(gap)
    inverse = np.zeros((size, size))
    inverse[np.ix_(free, free)] = np.linalg.inv(hessian(told + prior, free, scale.sign))
    squares, clusters = _squared_residuals(expected, seats, points, pairs, scale)
    model = met * 0.25 if scale.by_payoff else met * expected * expected.T
    spread = np.diag(inverse)[:, None] + np.diag(inverse)[None, :] + 2.0 * scale.sign * inverse
    leverage = np.minimum(told * spread / np.maximum(clusters, 1.0), 0.75)
    squares = squares / (1.0 - leverage)
    overall = (squares.sum() / 2.0 + PSEUDO) / (model.sum() / 2.0 + PSEUDO)
    ratio = (squares + PSEUDO * overall) / (model + PSEUDO)
    meat = laplacian(ratio * told + prior, scale.sign)
    return inverse @ meat @ inverse


def _squared_residuals(
    expected: Floats, seats: Ints, points: Floats, pairs: Ints, scale: Scale
) -> tuple[Floats, Floats]:
    """Two symmetric [n, n] tables: squared residuals summed over clusters, and the number of clusters."""
    size = len(expected)
    first, second = seats[:, 0], seats[:, 1]
    side = np.where(first < second, 1.0, scale.sign)  # express all residuals of a pair for the same player
    residual = side * (points - expected[first, second])
    _, where, cluster = np.unique(pairs, return_index=True, return_inverse=True)
    total = np.bincount(cluster, weights=residual, minlength=len(where)).astype(np.float64)
    ends = seats[where]
    squares, clusters = table(ends, total**2, size), table(ends, np.ones(len(where)), size)
    return squares + squares.T, clusters + clusters.T
