"""Tail probabilities of the normal and the chi-square distribution, from the standard library only."""

from __future__ import annotations

import math
from typing import Final

Z95: Final = 1.959964
_TERMS: Final = 10_000
_EXACT: Final = 1e-14


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
