"""The Bradley-Terry fit: from tables of pairwise results to strengths and their covariance.

Player i has strength t_i, and E[score of i against j] = u / 2 + (1 - u) / (1 + exp(t_j - t_i)): a share u of the games
(``UPSETS``) is lost or won without regard to strength, by a fall off the stage for instance. Without it one loss to a
player that is 3,000 Elo weaker would lower a rating by hundreds, and no rating predicted new games
(docs/trainer/internals/ratings.md). The log-likelihood of all scores is sum over pairs
won_ij log p_ij + won_ji log p_ji, where virtual draws of the prior have no upsets: they keep strengths finite where all
games are won.

The covariance is the cluster-robust one, H^-1 M H^-1. H is the expected information. M sums squared residuals by
cluster, where a cluster is all games of two players on one seed: such games are correlated, and draws make a game less
noisy than a coin flip.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, Ints

UPSETS: Final = 0.02
"""Share of the games whose result says nothing about strength: the likeliest value in rating games of laptop runs."""
_PSEUDO: Final = 0.5
"""Prior information, in p(1 - p) units, that shrinks the noise of a pair towards that of all pairs, and that of all
pairs towards a coin flip's. It is worth two even games. Without it ten draws would have zero error."""

_LONGEST: Final = 4.0
"""Largest Newton step, in units of strength. A larger one can land where the likelihood is flat."""
_SHORT: Final = 0.1
"""Largest step with the observed curvature. Longer ones can leave the maximum that the search is close to."""
_STILL: Final = 1e-7
"""Step at which the fit has converged."""
_STEPS: Final = 200
"""Bounds the time of a fit. Each step keeps or raises the likelihood, so strengths are usable when it ends the fit."""
_RIDGE: Final = 1e-9  # keeps the Hessian invertible in floating point, with no measurable effect on the result
_ROUNDING: Final = 1e-14  # the same for the largest weights, as a share of them


def table(seats: Ints, values: Floats, size: int) -> Floats:
    """[size, size] sums of ``values`` [N] by (first, second) player of ``seats`` [N, 2]."""
    flat = np.bincount(seats[:, 0] * size + seats[:, 1], weights=values, minlength=size * size)
    return np.asarray(flat, dtype=np.float64).reshape(size, size)


def expected_scores(strength: Floats) -> Floats:
    """[n, n] expected score of the row's player against the column's."""
    return score_of_gap(strength[:, None] - strength[None, :])


def score_of_gap(gap: Floats, upsets: float = UPSETS) -> Floats:
    """Expected score of a player with ``gap`` more strength than the other."""
    return np.asarray(0.5 + 0.5 * (1.0 - upsets) * np.tanh(0.5 * gap))


def gap_of_score(score: float) -> float | None:
    """The gap in strength with this expected score; None if there is no finite one."""
    lead = (2.0 * score - 1.0) / (1.0 - UPSETS)
    return 2.0 * math.atanh(lead) if abs(lead) < 1.0 else None


def pull(gap: Floats, upsets: float = UPSETS) -> Floats:
    """Weight of a residual, points - expected, in the gradient of the log-likelihood; 1 without upsets."""
    lead = np.tanh(0.5 * gap)
    kept = 1.0 - upsets
    return np.asarray(kept * (1.0 - lead**2) / (1.0 - (kept * lead) ** 2)) if upsets else np.ones_like(lead)


def information(gap: Floats, upsets: float = UPSETS) -> Floats:
    """Expected information of a game about the gap in strength; p (1 - p) without upsets."""
    slope = 0.25 * (1.0 - upsets) * (1.0 - np.tanh(0.5 * gap) ** 2)
    return np.asarray(slope * pull(gap, upsets))


def maximise(met: Floats, won: Floats, ties: Floats, known: Floats) -> Floats:
    """Maximum-likelihood strengths [n], some of them fixed.

    The likelihood with upsets may have several maxima: the search starts from the only one without upsets.

    Args:
        met: [n, n] games between two players.
        won: [n, n] score of the row's player against the column's.
        ties: [n, n] virtual draws.
        known: [n] fixed strengths, at least one; NaN for players to fit.
    """
    free = np.isnan(known)
    strength = np.where(free, 0.0, known)
    for upsets in (0.0, UPSETS):
        strength = _climb(strength, met, won, ties, free, upsets)
    return strength


def _climb(strength: Floats, met: Floats, won: Floats, ties: Floats, free: Bools, upsets: float) -> Floats:
    """Newton's method with step halving, to the maximum of the likelihood on whose slope ``strength`` is."""
    first, second = np.nonzero(met + ties)  # sparse: most pairs have not met
    games, points, draws = met[first, second], won[first, second], ties[first, second]

    def likelihood(strength: Floats) -> float:
        gap = strength[first] - strength[second]
        share = np.log(score_of_gap(gap, upsets)) if upsets else -np.logaddexp(0.0, -gap)
        return float(points @ share) - 0.5 * float(draws @ np.logaddexp(0.0, -gap))

    def hessian(curvature: Floats) -> Floats:
        weights = np.zeros_like(met)
        weights[first, second] = curvature
        return _hessian(weights, free)

    value = likelihood(strength)
    for _ in range(_STEPS):
        gap = strength[first] - strength[second]
        expected, factor = score_of_gap(gap, upsets), pull(gap, upsets)
        surprise = points - games * expected
        residual = surprise * factor + draws * (0.5 - score_of_gap(gap, 0.0))
        told, prior = games * information(gap, upsets), draws * information(gap, 0.0)
        # The derivative of the factor is factor * (factor * (2 * expected - 1) - tanh).
        curvature = told - surprise * factor * (factor * (2.0 * expected - 1.0) - np.tanh(0.5 * gap))
        concave = curvature > 0.0
        slope = np.bincount(first, residual, len(met)).astype(np.float64)[free]
        step = np.zeros_like(strength)
        step[free] = np.linalg.solve(hessian(np.where(concave, curvature, told) + prior), slope)
        if _length(step) <= _SHORT and not concave.all():
            step[free] = _short_step(step[free], slope, hessian(curvature + prior))
        if (length := _length(step)) <= _STILL:
            return strength + step
        step *= min(1.0, _LONGEST / length)
        while (better := likelihood(strength + step)) < value - 1e-12 * abs(value):
            step /= 2.0
        strength, value = strength + step, better
    return strength


def _length(step: Floats) -> float:
    return float(np.abs(step).max(initial=0.0))


def _short_step(step: Floats, slope: Floats, observed: Floats) -> Floats:
    """The Newton step [f] with the ``observed`` Hessian, where that is short too, else ``step``.

    Close to a maximum it converges quadratically. ``step``, with the expected curvature of pairs whose likelihood is
    not concave, converges the slower the more the two Hessians differ. Where the slope vanishes at a point that is no
    maximum, as halfway between two, the step follows the largest upward curvature, towards higher strengths.
    """
    try:
        np.linalg.cholesky(observed)
    except np.linalg.LinAlgError:
        if _length(step) > _STILL:
            return step
        curvature, direction = np.linalg.eigh(observed)
        upward = curvature[0] < -1e-6 * curvature[-1]
        return direction[:, 0] * math.copysign(_SHORT, direction[:, 0].sum()) if upward else step
    newton = np.asarray(np.linalg.solve(observed, slope))
    return newton if _length(newton) <= _SHORT else step


def response(strength: Floats, met: Floats, ties: Floats, free: Bools) -> Floats:
    """[f, n - f] change of each ``free`` player's fitted strength with the strength of each fixed one.

    Arguments as of ``maximise``; ``strength`` [n] is its result.
    """
    gap = strength[:, None] - strength[None, :]
    weights = met * information(gap) + ties * information(gap, 0.0)
    return np.asarray(np.linalg.solve(_hessian(weights, free), weights[np.ix_(free, ~free)]))


def _laplacian(weights: Floats) -> Floats:
    """Sum over pairs of players of weight * (e_i - e_j)(e_i - e_j)^T, from a symmetric [n, n]."""
    found = -weights
    found[np.diag_indices_from(found)] += weights.sum(axis=1)
    return np.asarray(found)


def _hessian(weights: Floats, free: Bools) -> Floats:
    """Laplacian restricted to the ``free`` players, plus a ridge."""
    found = _laplacian(weights)[free][:, free]
    diagonal = np.diag_indices_from(found)
    found[diagonal] += max(_RIDGE, _ROUNDING * float(found[diagonal].max(initial=0.0)))
    return found


def robust_covariance(
    strength: Floats, seats: Ints, points: Floats, pairs: Ints, met: Floats, ties: Floats, free: Bools
) -> Floats:
    """[n, n] H^-1 M H^-1; rows and columns of players that are not ``free`` are zero.

    Each cluster adds its squared summed residual to the entry of its pair of players. Entries are divided by
    1 - leverage (MacKinnon and White's HC2), which corrects the bias towards zero with few games.
    """
    size, gap = len(strength), strength[:, None] - strength[None, :]
    expected, told, prior = expected_scores(strength), met * information(gap), ties * information(gap, 0.0)
    inverse = np.zeros((size, size))
    inverse[np.ix_(free, free)] = np.linalg.inv(_hessian(told + prior, free))
    squares, clusters = _squared_residuals(expected, seats, points, pairs)
    model = met * expected * expected.T
    spread = np.diag(inverse)[:, None] + np.diag(inverse)[None, :] - 2.0 * inverse
    leverage = np.minimum(told * spread / np.maximum(clusters, 1.0), 0.75)
    squares = squares / (1.0 - leverage)
    overall = (squares.sum() / 2.0 + _PSEUDO) / (model.sum() / 2.0 + _PSEUDO)
    ratio = (squares + _PSEUDO * overall) / (model + _PSEUDO)
    meat = _laplacian(ratio * told + prior)
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
