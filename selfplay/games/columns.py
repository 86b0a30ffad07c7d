"""The figures of a game's episodes that ended in an iteration, each named once.

The log, the live view and the page of a run show them. The metrics files, and so TensorBoard, have all: means over
episodes as ``play/NAME``, rates as ``NAME/KIND`` for each kind of opponent. Health rules read these tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Column:
    """The mean of a statistic of that name over episodes."""

    name: str
    label: str = ""  # of a row in the live view; "" is not shown
    form: str = "{:.2f}"
    chart: str = ""  # heading on the page of a run; "" is not shown


@dataclass(frozen=True, slots=True)
class Rate:
    """A total of both players per game or per minute of play."""

    name: str
    of: tuple[str, ...]  # statistics that are added up
    divisor: float  # of the total
    per: Literal["games", "minutes"]
    label: str  # in the live view and in the log
    form: str
    chart: str = ""  # of mirror games
    counts: float | None = None  # the total is of episodes in which the statistic has this value, not of its values


@dataclass(frozen=True, slots=True)
class Columns:
    """The figures of a game."""

    means: tuple[Column, ...] = ()
    rates: tuple[Rate, ...] = ()
    title: str = "Games"  # of the rates in the live view
    progress: str = ""  # of the log's line of progress: names of rates with their forms; "" shows the return
    unit: str = "steps"  # of the length of an episode
    minute: float = 3600.0  # so many of them


NONE: Final = Columns()
"""Of games that have no figures of their own."""
