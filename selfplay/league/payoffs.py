"""Games that are judged by payoffs: the mean with an interval, a sequential test, and the score that it stands for.

A lead is half the difference of the payoffs of two players in a game. In zero-sum games it is the payoff of the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.sprt import SprtBounds, SprtResult, sprt
from selfplay.league.statistics import Z95, normal_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from selfplay.league.games import Floats


@final
@dataclass(frozen=True, slots=True)
class PayoffInterval:
    """Mean payoff of a game, and its 95% interval."""

    mean: float
    low: float
    high: float
    superiority: float  # probability that the expected payoff is above 0: 97.5% where ``low`` is 0


def leads_of(payoffs: ArrayLike) -> Floats:
    """Leads [N] of the first of two players, from the payoffs of both [N, 2]."""
    both = np.asarray(payoffs, dtype=np.float64).reshape(-1, 2)
    return (both[:, 0] - both[:, 1]) / 2.0


def payoff_interval(leads: ArrayLike, pairs: ArrayLike | None = None) -> PayoffInterval:
    """Mean of the ``leads`` [N] of one player. Games with one label in ``pairs`` [N] share a seed.

    The variance is that between seeds (``mean_error``), and of as many pseudo-observations as ``sprt`` has, in games
    of the root mean square of the leads: without them a few equal leads would have no error.
    """
    found = np.asarray(leads, dtype=np.float64).ravel()
    if not found.size or not np.isfinite(found).all():
        raise LeagueError("an interval needs at least one game, and finite payoffs")
    cluster = np.arange(found.size) if pairs is None else np.unique(pairs, return_inverse=True)[1].ravel()
    mean = float(found.mean())
    sums = np.bincount(cluster, found - mean)  # by seed
    unseen = Z95**2 * float(np.square(found).mean()) * found.size / len(sums)
    variance = (float(np.square(sums).sum()) + unseen) / (len(sums) - 1 + Z95**2)
    error = math.sqrt(variance * len(sums)) / found.size
    superiority = normal_below(mean / error) if error > 0.0 else 0.5  # without error all are 0
    return PayoffInterval(mean, mean - Z95 * error, mean + Z95 * error, superiority)


def sprt_of_payoffs(leads: ArrayLike, pairs: ArrayLike | None = None, bounds: SprtBounds | None = None) -> SprtResult:
    """``sprt`` of the ``leads`` [N] of A, for games that pay different amounts.

    The hypotheses are in normalised Elo, as fishtest has it: a bound of ``elo`` is a mean lead of
    ``2 * (expected_score(elo) - 0.5)`` root mean squares of a game. In games that pay +1 or -1 this is the test of
    their scores. Payoffs so rare that none has been seen are not known to the test.
    """
    found = np.asarray(leads, dtype=np.float64).ravel()
    stake = root_mean_square(found)
    return sprt(0.5 + 0.5 * (found / stake if stake > 0.0 else found), pairs, bounds)


def root_mean_square(payoffs: ArrayLike) -> float:
    """Size of a typical payoff; 0 without any."""
    found = np.asarray(payoffs, dtype=np.float64)
    return math.sqrt(float(np.square(found).mean())) if found.size else 0.0


def score_of_leads(total: float, squares: float, games: float) -> float:
    """The score in [0, 1] that leads stand for: (1 + E[r] / sqrt(E[r^2])) / 2, the share of wins if all are +1 or -1.

    Args:
        total: Sum of the leads.
        squares: Sum of their squares.
        games: Number of games.
    """
    return 0.5 + 0.5 * total / math.sqrt(games * squares) if squares > 0.0 else 0.5
