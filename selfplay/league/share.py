"""One player's share of the points in a series of games, with an interval that is honest at 0% and 100% too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.chance import Z95

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Share:
    """Mean score with the ends of its 95% interval, all in [0, 1]."""

    score: float
    low: float
    high: float


def score_share(scores: ArrayLike, pairs: ArrayLike | None = None) -> Share:
    """Wilson's interval for the mean of ``scores`` [N] in [0, 1] (a draw is 0.5).

    Args:
        scores: of one player, one a game.
        pairs: [N] label of the games that share a seed. Where such games go alike they count as fewer.

    Raises:
        LeagueError: no games, or a score outside [0, 1].
    """
    points = np.asarray(scores, dtype=np.float64).ravel()
    if not points.size or not ((points >= 0.0) & (points <= 1.0)).all():
        raise LeagueError("a share needs at least one game, and scores from 0 to 1")
    share, count = float(points.mean()), float(points.size)
    if pairs is not None:
        count /= _design_effect(points - share, np.unique(pairs, return_inverse=True)[1].ravel())
    z = Z95**2 / count
    middle, half = share + z / 2.0, Z95 * math.sqrt(share * (1.0 - share) / count + z / (4.0 * count))
    low, high = (middle - half) / (1.0 + z), (middle + half) / (1.0 + z)
    return Share(share, min(share, max(0.0, low)), max(share, min(1.0, high)))  # rounding must not put it outside


def _design_effect(residuals: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    """How many times noisier the games are than independent ones, at least 1."""
    alone = float(np.square(residuals).sum())
    together = float(np.square(np.bincount(cluster, weights=residuals)).sum())
    return max(1.0, together / alone) if alone > 0.0 else 1.0
