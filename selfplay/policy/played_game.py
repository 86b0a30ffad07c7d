"""Which game a policy plays; loads no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.plugins import is_plugin
from envs.registry import GAMES, find_game

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta


def game_of(meta: PolicyMeta) -> str:
    """Name of the game that a policy plays: what it was trained on, or, where nothing is said of that, the mock."""
    game = meta.config.get("game")
    name = game.get("type") if isinstance(game, dict) else None
    return name if isinstance(name, str) and (name in GAMES or is_plugin(name)) else "mock"


def can_play(meta: PolicyMeta, game: str) -> bool:
    """Return True if a policy can play a game: its own, or any fight, as fights share encoder and controller."""
    own = game_of(meta)
    return own == game or (find_game(own).fighter and find_game(game).fighter)
