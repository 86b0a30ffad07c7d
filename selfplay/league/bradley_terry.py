"""The Bradley-Terry fit: from tables of pairwise results to strengths and their covariance.

Player i has strength t_i, and E[score of i against j] = u / 2 + (1 - u) / (1 + exp(t_j - t_i)): a share u of the games
(``UPSETS``) is lost or won without regard to strength, by a fall off the stage for instance. Without it one loss to a
player that is 3,000 Elo weaker would lower a rating by hundreds, and no rating predicted new games
(docs/trainer/internals/ratings.md). The log-likelihood of all scores is sum over pairs
won_ij log p_ij + won_ji log p_ji, where virtual draws of the prior have no upsets: they keep strengths finite where all
games are won.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.normal_equations import hessian

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats

UPSETS: Final = 0.02
"""Share of the games whose result says nothing about strength: the likeliest value in rating games of laptop runs."""
_LONGEST: Final = 4.0
"""Largest Newton step, in units of strength. A larger one can land where the likelihood is flat."""
_SHORT: Final = 0.1
"""Largest step with the observed curvature. Longer ones can leave the maximum that the search is close to."""
_STILL: Final = 1e-7
"""Step at which the fit has converged."""
_STEPS: Final = 200
"""Bounds the time of a fit. Each step keeps or raises the likelihood, so strengths are usable when it ends the fit."""


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

    def curved(curvature: Floats) -> Floats:
        weights = np.zeros_like(met)
        weights[first, second] = curvature
        return hessian(weights, free)

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
        step[free] = np.linalg.solve(curved(np.where(concave, curvature, told) + prior), slope)
        if _length(step) <= _SHORT and not concave.all():
            step[free] = _short_step(step[free], slope, curved(curvature + prior))
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
