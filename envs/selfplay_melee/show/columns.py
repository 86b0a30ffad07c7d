"""The figures of fights that ended in an iteration."""

from __future__ import annotations

from typing import Final

from selfplay.games.columns import Column, Columns, Rate
from selfplay_melee.limits import FINISHED
from selfplay_melee.state import FPS

COLUMNS: Final = Columns(
    means=(
        Column("stocks"),  # left at the end
        Column("stocks_taken", "stocks taken"),
        Column("damage", "damage", "{:.0f}%"),  # dealt
        Column("damage_taken"),
        Column("self_destructs", "self-destructs"),  # stocks lost without being hit
    ),
    rates=(
        Rate(
            "finished", ("ended",), 1.0, "games", "finished", "{:.0%}", "Finished mirror games, share", counts=FINISHED
        ),
        Rate(
            "stocks_per_minute", ("stocks_taken", "stocks_lost"), 2.0, "minutes", "stocks/min", "{:.2f}",
            "Stocks a minute in mirror games, a player",
        ),
        Rate("damage_per_minute", ("damage", "damage_taken"), 2.0, "minutes", "damage/min", "{:.0f}%"),
        Rate("seconds_without_hit", ("frames_without_hit",), 60.0, "games", "s without hit", "{:.0f}"),
    ),
    title="Fights",
    progress="{stocks_per_minute:.2f} stocks a minute, {finished:.0%} finished",
    unit="frames",
    minute=60.0 * FPS,
)  # fmt: skip
