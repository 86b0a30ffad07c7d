"""Figures smoothed over the last iterations: one iteration alone has few episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

NEW: Final = 0.25  # weight of the newest value
PLAY: Final = ("return_mean", "episode_length", "decisive_share", "stocks_taken", "damage", "self_destructs")


class Recent:
    """Exponentially weighted means; a figure starts at its first value and waits where one is missing."""

    def __init__(self) -> None:
        self.steps_per_s = 0.0
        self.play: dict[str, float] = {}  # those of PLAY that are known
        self.win_rate: dict[str, float] = {}  # by opponent, those met last at the end

    def add(self, report: IterationReport) -> None:
        """Take in one iteration."""
        self.steps_per_s += (NEW if self.steps_per_s else 1.0) * (report.steps_per_s - self.steps_per_s)
        _blend(self.play, {name: value for name in PLAY if (value := getattr(report.play, name)) is not None})
        _blend(self.win_rate, report.play.win_rate)


def _blend(means: dict[str, float], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        mean = means.pop(name, value)
        means[name] = mean + NEW * (value - mean)
