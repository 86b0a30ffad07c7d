"""Metrics smoothed over the last iterations, since one iteration has few episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

NEW: Final = 0.25  # weight of the newest value
TIME_S: Final = 60.0  # of the last minute, roughly, is how phases share the time: rating comes every few iterations


class Recent:
    """Exponential moving averages. They start at the first value; missing values are skipped."""

    def __init__(self) -> None:
        self.steps_per_s = 0.0
        self.play: dict[str, float] = {}  # means of ``Play`` by name, those that are known
        self.win_rate: dict[str, float] = {}  # by opponent, most recent last
        self.pace: dict[str, dict[str, float]] = {}  # figures of ``Pace`` by name, by kind of opponent

    def add(self, report: IterationReport) -> None:
        self.steps_per_s += (NEW if self.steps_per_s else 1.0) * (report.steps_per_s - self.steps_per_s)
        _blend(self.play, {name: value for name, value in report.play if isinstance(value, float)})
        _blend(self.win_rate, report.play.win_rate)
        for kind, pace in report.play.pace.items():
            _blend(self.pace.setdefault(kind, {}), dict(pace))


class TimeShares:
    """Shares of the phases in the time of about the last ``TIME_S`` seconds."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, phase_s: Mapping[str, float]) -> None:
        faded = math.exp(-sum(phase_s.values()) / TIME_S)
        names = {**self._seconds, **phase_s}
        self._seconds = {name: faded * self._seconds.get(name, 0.0) + phase_s.get(name, 0.0) for name in names}

    @property
    def shares(self) -> dict[str, float]:
        total = sum(self._seconds.values()) or 1.0
        return {name: seconds / total for name, seconds in self._seconds.items()}


def _blend(means: dict[str, float], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        mean = means.pop(name, value)
        means[name] = mean + NEW * (value - mean)
