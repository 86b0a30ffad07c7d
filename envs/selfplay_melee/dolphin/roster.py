"""Characters of the real game, by libmelee's names, and its computer players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from selfplay_melee.bot_names import NAMES

_BY_NUMBER: Final = (
    *("mario", "fox", "cptfalcon", "dk", "kirby", "bowser", "link", "sheik", "ness", "peach", "popo", "nana"),
    *("pikachu", "samus", "yoshi", "jigglypuff", "mewtwo", "luigi", "marth", "zelda", "ylink", "doc", "falco"),
    *("pichu", "gameandwatch", "ganondorf", "roy"),
)
CHARACTERS: Final = {name: number for number, name in enumerate(_BY_NUMBER) if name != "nana"}
"""Melee's internal numbers by name. Nana comes with Popo."""

LEVELS: Final = range(1, 10)
CPU: Final = tuple(f"cpu_{level}" for level in LEVELS)
"""The game's own computer players by level: the ladder of the real game."""

PLAYERS: Final = (*NAMES, *CPU)
"""Players that can take a seat instead of a policy: scripted players, then computer players."""


def level_of(player: int) -> int:
    """Level of the computer player at an index of ``PLAYERS``, 0 for other players."""
    return max(player - len(NAMES) + 1, 0)


@dataclass(frozen=True, slots=True)
class Seat:
    """The player of a seat."""

    character: int  # Melee's internal number
    cpu_level: int = 0  # of the game's own computer player
    person: bool = False  # has a controller of its own, and chooses its character itself
