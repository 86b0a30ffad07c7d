"""Confidence intervals of the mean of a few values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev
from typing import Final

from selfplay.league.statistics import Z95

T95: Final = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Two-sided 95% quantile of Student's t by number of values; above 10 values the normal distribution is used."""


def t95(count: int) -> float:
    """Quantile for a two-sided 95% interval of the mean of ``count`` values."""
    return T95.get(count, Z95)


def half95(values: Sequence[float]) -> float:
    """Half the width of the 95% interval of the mean; at least two values."""
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))
