"""Tail probabilities of the normal and the chi-square distribution, and confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.errors import LeagueError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Z95: Final = 1.959964
_TERMS: Final = 10_000
_EXACT: Final = 1e-14


def normal_below(z: float) -> float:
    """Probability that a standard normal is below ``z``."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def chi2_above(value: float, df: float) -> float:
    """Probability that a chi-square with ``df`` degrees of freedom is above ``value``.

    This is the upper incomplete gamma function Q(df/2, value/2), computed by its series below the mean and by Lentz's
    continued fraction above it (Numerical Recipes, section 6.2).
    """
    a, x = 0.5 * df, 0.5 * value
    if x <= 0.0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for k in range(1, _TERMS):
            term *= x / (a + k)
            total += term
            if term < _EXACT * total:
                break
        return max(0.0, 1.0 - front * total)
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    fraction = d
    for k in range(1, _TERMS):
        step = k * (a - k)
        b += 2.0
        d = 1.0 / (step * d + b)
        c = b + step / c
        fraction *= c * d
        if abs(c * d - 1.0) < _EXACT:
            break
    return front * fraction


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Mean score and its 95% interval, all in [0, 1]."""

    score: float
    low: float
    high: float
    superiority: float  # probability that the expected score is above one half: 97.5% where ``low`` is one half


def mean_error(values: ArrayLike, clusters: ArrayLike) -> float:
    """Half width of the 95% interval of the mean of ``values`` [N]; those of one label in ``clusters`` [N] go together.

    One cluster tells no error: 0.
    """
    found = np.asarray(values, dtype=np.float64)
    _, where = np.unique(clusters, return_inverse=True)
    sums = np.bincount(where.ravel(), found - found.mean())
    return Z95 * math.sqrt(float(np.square(sums).sum()) * len(sums) / max(len(sums) - 1, 1)) / len(found)


def score_interval(scores: ArrayLike, pairs: ArrayLike | None = None) -> ScoreInterval:
    """Wilson's 95% interval for the mean of one player's ``scores`` [N], which is valid near 0 and 1 too.

    Games with one label in ``pairs`` [N] share a seed. The interval is wider where they go alike, and narrower where
    their differences cancel out, as with a seat that nearly always wins, and with draws.
    """
    points = np.asarray(scores, dtype=np.float64).ravel()
    if not points.size or not ((points >= 0.0) & (points <= 1.0)).all():
        raise LeagueError("an interval needs at least one game, and scores from 0 to 1")
    cluster = np.arange(points.size) if pairs is None else np.unique(pairs, return_inverse=True)[1].ravel()
    share = float(points.mean())
    count = points.size / _design_effect(points, share, cluster)
    z = Z95**2 / count
    middle, half = share + z / 2.0, Z95 * math.sqrt(share * (1.0 - share) / count + z / (4.0 * count))
    low, high = (middle - half) / (1.0 + z), (middle + half) / (1.0 + z)
    superiority = normal_below((share - 0.5) * 2.0 * math.sqrt(count))  # Wilson's test of one half
    # guard against rounding
    return ScoreInterval(share, min(share, max(0.0, low)), max(share, min(1.0, high)), superiority)


def _design_effect(points: NDArray[np.float64], share: float, cluster: NDArray[np.int64]) -> float:
    """Variance of the mean relative to that of independent games without draws."""
    coins = share * (1.0 - share) * points.size
    together = float(np.square(np.bincount(cluster, weights=points - share)).sum())
    if together < coins:
        # What has not been seen in n clusters has a share of up to about Z95^2 / n: without it, few clusters that all
        # cancel out would have no error.
        unseen = Z95**2 * float(np.square(0.5 * np.bincount(cluster)).mean())
        return (together + unseen) / (coins + unseen)
    return together / coins if coins > 0.0 else 1.0


def student95(df: float) -> float:
    """Student's t with ``df`` degrees of freedom lies between minus and plus this value in 95% of cases.

    With t = sqrt(df) tan(a) the density of the angle a is proportional to cos(a)^(df - 1); it is summed up.
    """
    angles = np.linspace(0.0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (df - 1.0)
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(df) * math.tan(float(np.interp(0.95, mass / mass[-1], angles)))
