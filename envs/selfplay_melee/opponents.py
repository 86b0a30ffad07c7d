"""Opponents in the Gymnasium environments: scripted players, loaded policies, or callables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfplay.games.api import F32
from selfplay.games.errors import GameError, UnknownNameError
from selfplay_melee import bots

Choose = Callable[[F32], NDArray[Any]]
Games = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Player:
    """A player that gets the observations of a seat and returns its actions.

    ``act`` takes the observations of N games, [N, D], and their numbers in the block, [N], and gives their actions,
    [N, A], each in the view of the seat. It is called every ``frame_skip`` frames; what it chose is held in between
    and arrives ``delay`` frames late. ``start`` is called with a seed whenever an environment is reset with one,
    ``forget`` with the numbers of the games in which a new episode begins.
    """

    act: Callable[[F32, Games], NDArray[Any]]
    frame_skip: int
    delay: int
    start: Callable[[int], object] = lambda seed: None
    forget: Callable[[Games], object] = lambda games: None
    name: str = "opponent"  # to show


Opponent = str | Choose | Player


def find_opponent(opponent: Opponent, frame_skip: int, delay: int) -> str | Player:
    """Find the opponent that the user gave: the name of a scripted player, which the game plays itself, or a Player.

    Args:
        opponent: Name of a scripted player; a callable, one observation [D] -> one action [A]; or a Player, which a
            policy becomes by ``selfplay_melee.policy_opponent.load_opponent``.
        frame_skip: Of a bare callable.
        delay: Of a bare callable.

    Raises:
        UnknownNameError: no scripted player.
        GameError: the path of a policy, which is to be loaded first.
    """
    if isinstance(opponent, Player) or (isinstance(opponent, str) and opponent in bots.NAMES):
        return opponent
    if isinstance(opponent, str | Path):
        if isinstance(opponent, str) and Path(opponent).name == opponent and not Path(opponent).exists():
            raise UnknownNameError("opponent", opponent, bots.NAMES)
        loaded = f"selfplay_melee.policy_opponent.load_opponent({str(opponent)!r})"
        raise GameError(f"opponent {str(opponent)!r}: the path of a policy is no opponent, give opponent={loaded}")
    choose = opponent  # is called for one game at a time
    return Player(lambda obs, _: np.stack([np.asarray(choose(row)) for row in obs]), frame_skip, delay)


def name_of(opponent: Opponent) -> str:
    """A name to show: that of a scripted player or of a Player, else ``opponent``."""
    if isinstance(opponent, str):
        return opponent
    return opponent.name if isinstance(opponent, Player) else "opponent"
