"""Who plays whom, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from selfplay.games.errors import UnknownNameError
from selfplay_melee import bots

LEVELS: Final = 9  # of computer players


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who plays at a port."""

    port: int  # 0..3
    character: int  # internal id
    player: str | None = None  # scripted player; None: the controller of the port
    level: int = 0  # of a computer player, 1..9; 0: a person, or a bot with a controller


@dataclass(frozen=True, slots=True)
class Match:
    """A game as it was set up."""

    entrants: tuple[Entrant, Entrant]  # the lower port first
    stage: int  # as libmelee and the tables number stages
    frozen: bool = False  # Stadium does not change; the mock's never does


def player_of_level(level: int) -> str:
    """The scripted player who is a computer player of this level, 1..9: the weakest first, by the ladder."""
    return bots.LADDER[(level - 1) * len(bots.LADDER) // LEVELS]


def kind_of(player: str | None) -> int:
    """The number of a scripted player, -1 for none.

    Raises:
        UnknownNameError: there is no such player.
    """
    if player is None:
        return -1
    if player not in bots.NAMES:
        raise UnknownNameError("scripted player", player, bots.NAMES)
    return bots.NAMES.index(player)
