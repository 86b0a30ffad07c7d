"""The figures of fights that ended in an iteration, each named once.

The metrics files, and so TensorBoard, have all of them: means over episodes as ``play/NAME``, rates as ``NAME/KIND``
for each kind of opponent. Health rules read these tags.
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
    of: tuple[str, ...]  # statistics that are added up, or ``finished``, the number of finished games
    divisor: float  # of the total
    per: Literal["games", "minutes"]
    label: str  # in the live view and in the log
    form: str
    chart: str = ""  # of mirror games


MEANS: Final = (
    Column("stocks"),  # left at the end
    Column("stocks_taken", "stocks taken"),
    Column("damage", "damage", "{:.0f}%"),  # dealt
    Column("damage_taken"),
    Column("self_destructs", "self-destructs"),  # stocks lost without being hit
)
RATES: Final = (
    Rate("finished", ("finished",), 1.0, "games", "finished", "{:.0%}", "Finished mirror games, share"),
    Rate(
        "stocks_per_minute", ("stocks_taken", "stocks_lost"), 2.0, "minutes", "stocks/min", "{:.2f}",
        "Stocks a minute in mirror games, a player",
    ),
    Rate("damage_per_minute", ("damage", "damage_taken"), 2.0, "minutes", "damage/min", "{:.0f}%"),
    Rate("seconds_without_hit", ("frames_without_hit",), 60.0, "games", "s without hit", "{:.0f}"),
)  # fmt: skip
