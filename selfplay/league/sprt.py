"""A sequential test of one player against another: play until it is clear, and no longer.

The generalised sequential probability ratio test of fishtest and fastchess: the score of a pair of games on one seed,
seats swapped, is one observation. With n pairs of mean score x and variance v the log-likelihood ratio of the expected
scores s1 (stronger by ``elo1``) and s0 (by ``elo0``) is about n (s1 - s0)(2x - s0 - s1) / (2v).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

from selfplay.errors import ConfigError
from selfplay.league.chance import normal_below
from selfplay.league.ratings import expected_score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

State = Literal["accepted", "rejected", "open"]
_PSEUDO: Final = 0.5
"""Pairs with the noise of coins that stand beside the real ones: a few equal results have no variance of their own."""
_COIN: Final = 0.25
"""Variance of the score of an even game without draws."""


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """What is tested: that A is stronger by ``elo1`` at least (accepted), against ``elo0`` at most (rejected)."""

    elo0: float = 0.0
    elo1: float = 30.0
    alpha: float = 0.05  # share of tests that accept though elo0 is true
    beta: float = 0.05  # share that reject though elo1 is true

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: bounds in the wrong order, or shares outside (0, 0.5).
        """
        if not self.elo0 < self.elo1:
            raise ConfigError(f"elo0 must be below elo1, got {self.elo0:g} and {self.elo1:g}")
        if not (0.0 < self.alpha < 0.5 and 0.0 < self.beta < 0.5):
            raise ConfigError(f"alpha and beta must be above 0 and below 0.5, got {self.alpha:g} and {self.beta:g}")

    @property
    def low(self) -> float:
        """Log-likelihood ratio from which A is rejected."""
        return math.log(self.beta / (1.0 - self.alpha))

    @property
    def high(self) -> float:
        """Log-likelihood ratio from which A is accepted."""
        return math.log((1.0 - self.beta) / self.alpha)


@final
@dataclass(frozen=True, slots=True)
class Test:
    """Where a test stands."""

    llr: float
    low: float
    high: float
    state: State
    pairs: int
    superiority: float  # likelihood that A is the stronger one

    @property
    def pairs_needed(self) -> int | None:
        """Pairs that would settle an open test if the rest went like these; None where they point nowhere."""
        if self.state != "open" or not self.pairs or self.llr == 0.0:
            return None
        goal = self.high if self.llr > 0.0 else self.low
        return math.ceil(self.pairs * (goal - self.llr) / self.llr)


def sprt(scores: ArrayLike, pairs: ArrayLike | None = None, bounds: Bounds | None = None) -> Test:
    """Test A's scores.

    Args:
        scores: [N] of A, 1 a win, 0.5 a draw.
        pairs: [N] label of the games that share a seed; by default each stands alone.
        bounds: what is tested.
    """
    bounds = bounds or Bounds()
    points = np.asarray(scores, dtype=np.float64).ravel()
    games = points.size
    if pairs is not None and points.size:
        _, cluster = np.unique(pairs, return_inverse=True)
        points = np.bincount(cluster.ravel(), weights=points) / np.bincount(cluster.ravel())
    count = points.size
    if not count:
        return Test(0.0, bounds.low, bounds.high, "open", 0, 0.5)
    mean = float(points.mean())
    variance = (float(np.square(points - mean).sum()) + _PSEUDO * _COIN * count / games) / (count + _PSEUDO)
    s0, s1 = expected_score(bounds.elo0, 0.0), expected_score(bounds.elo1, 0.0)
    llr = count * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance)
    state: State = "accepted" if llr >= bounds.high else "rejected" if llr <= bounds.low else "open"
    superiority = normal_below((mean - 0.5) / math.sqrt(variance / count))
    return Test(llr, bounds.low, bounds.high, state, count, superiority)
