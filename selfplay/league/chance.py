"""Tail probabilities of the normal and the chi-square distribution, and intervals, from the standard library only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev
from typing import Final

Z95: Final = 1.959964
T95: Final = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Student's t for the mean of so many values, two-sided 95%; beyond, the normal distribution."""
_TERMS: Final = 10_000
_EXACT: Final = 1e-14


def t95(count: int) -> float:
    """Student's t of a two-sided 95% interval for the mean of ``count`` values."""
    return T95.get(count, Z95)


def half95(values: Sequence[float]) -> float:
    """Half the width of the 95% interval of the mean of two or more values."""
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))


def normal_below(z: float) -> float:
    """Probability that a standard normal is below ``z``."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def chi2_above(value: float, df: float) -> float:
    """Probability that a chi-square with ``df`` degrees of freedom is above ``value``.

    The upper incomplete gamma function Q(df/2, value/2): by its series below the mean, by Lentz's continued fraction
    above it (Numerical Recipes, section 6.2).
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
