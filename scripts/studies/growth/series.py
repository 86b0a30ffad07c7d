"""Cost of an operation at several sizes: processor seconds or bytes, the exponent of growth, and the bar for it.

The exponent is the slope of log time over log size, by least squares over the upper half of the sizes, since constant
costs dominate small ones. The bar is the same slope of ``n log n``; for operations that each generation or batch
repeats it is that of ``log n``, so that a run of n generations costs at most n log n.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

import numpy as np

NOISE: Final = 0.05
"""Tolerance of an exponent above its bar, for measurements on a shared machine."""
ENOUGH_S: Final = 0.3  # total of a measurement, after which calls are not repeated
FEWEST, MOST_CALLS = 5, 100  # calls of a measurement
LONG_S: Final = 2.0  # total after which calls are not repeated, however few they were

Bar = Literal["n log n", "log n"]
_BARS: Final[Mapping[Bar, Callable[[float], float]]] = {
    "n log n": lambda n: n * math.log(n),
    "log n": math.log,
}


def seconds(call: Callable[[], object], *, calls: int = MOST_CALLS) -> float:
    """Processor time of the fastest of a few calls, since load of the machine only adds time."""
    found: list[float] = []
    while not found or (len(found) < calls and (len(found) < FEWEST or sum(found) < ENOUGH_S) and sum(found) < LONG_S):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


@final
@dataclass(slots=True)
class Series:
    """Cost of an operation at each size."""

    axis: str  # what grows: games, players, ...
    name: str
    bar: Bar = "n log n"
    unit: Literal["s", "bytes"] = "s"
    sizes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, size: int, value: float) -> None:
        """Add a size, larger than those before it."""
        self.sizes.append(size)
        self.values.append(value)

    @property
    def exponent(self) -> float:
        """Exponent over the upper half of the sizes; NaN for a single size."""
        return self._slope(self.values)

    @property
    def allowed(self) -> float:
        """The exponent of the bar over the same sizes."""
        return self._slope([_BARS[self.bar](size) for size in self.sizes])

    @property
    def holds(self) -> bool:
        """Whether it grows no faster than the bar, within ``NOISE``."""
        return not self.exponent > self.allowed + NOISE

    def document(self) -> dict[str, Any]:
        """The series as JSON types."""
        return {
            "axis": self.axis,
            "name": self.name,
            "unit": self.unit,
            "bar": self.bar,
            "sizes": self.sizes,
            "values": [float(f"{value:.4g}") for value in self.values],
            "exponent": round(self.exponent, 3),
            "allowed": round(self.allowed, 3),
            "holds": self.holds,
        }

    def _slope(self, values: Sequence[float]) -> float:
        upper = slice(min(len(self.sizes) // 2, max(len(self.sizes) - 2, 0)), None)
        x, y = np.log(self.sizes[upper]), np.log(values[upper])
        return float(np.polyfit(x, y, 1)[0]) if len(x) > 1 else math.nan


@final
class Measured:
    """The series of one axis."""

    def __init__(self, axis: str) -> None:
        self._axis = axis
        self._series: dict[str, Series] = {}

    def add(self, name: str, size: int, value: float, bar: Bar = "n log n", unit: Literal["s", "bytes"] = "s") -> None:
        """Add the cost of ``name`` at a size."""
        self._series.setdefault(name, Series(self._axis, name, bar, unit)).add(size, value)

    @property
    def all(self) -> list[Series]:
        """In the order of their first values."""
        return list(self._series.values())
