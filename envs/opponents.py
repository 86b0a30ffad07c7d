"""Opponents in the Gymnasium environments: scripted players, policy folders, or callables."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.api import F32
from envs.errors import UnknownNameError
from envs.melee import bots

Choose = Callable[[F32], NDArray[Any]]
Games = NDArray[np.intp]

# "module:function" that makes a Player of a policy folder. A name and not an import, because policies need packages
# that games do not: the module is loaded when a folder is given.
POLICY_LOADER: Final = "selfplay.policy.opponent:load_opponent"


@dataclass(frozen=True, slots=True)
class Scripted:
    """A player that the game plays itself, by name."""

    name: str
    frame_skip: int = bots.FRAME_SKIP
    delay: int = 0


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


Opponent = str | Path | Choose | Scripted | Player


def find_opponent(opponent: Opponent, frame_skip: int, delay: int) -> Scripted | Player:
    """Find the opponent that the user gave.

    Args:
        opponent: Name of a scripted player; path of a policy folder; a callable, one observation [D] -> one action
            [A]; or a Player.
        frame_skip: Of a bare callable.
        delay: Of a bare callable.

    Raises:
        UnknownNameError: neither a scripted player nor a path.
        Exception: what the loader of policy folders raises where no policy lies there.
    """
    if isinstance(opponent, Scripted | Player):
        return opponent
    if isinstance(opponent, str) and opponent in bots.NAMES:
        return Scripted(opponent)
    if isinstance(opponent, str | Path):
        if isinstance(opponent, str) and Path(opponent).name == opponent and not Path(opponent).exists():
            raise UnknownNameError("opponent", opponent, bots.NAMES)
        return _load(Path(opponent))
    return Player(_one_by_one(opponent), frame_skip, delay)


def name_of(opponent: Opponent) -> str:
    """A name to show: that of a scripted player or of a folder, else ``opponent``."""
    if isinstance(opponent, Scripted):
        return opponent.name
    return Path(opponent).resolve().name if isinstance(opponent, str | Path) else "opponent"


def _one_by_one(choose: Choose) -> Callable[[F32, Games], NDArray[Any]]:
    """The same choice for several games: called for one game at a time."""

    def act(obs: F32, _: Games) -> NDArray[Any]:
        return np.stack([np.asarray(choose(row)) for row in obs])

    return act


def _load(folder: Path) -> Player:
    module, _, function = POLICY_LOADER.partition(":")
    player = getattr(importlib.import_module(module), function)(folder)
    if not isinstance(player, Player):
        raise TypeError(f"{POLICY_LOADER} must give a Player, it gave {player!r}")
    return player
