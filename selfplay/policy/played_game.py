"""Which game a policy plays; loads no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.plugins import GROUP, is_plugin
from envs.registry import DIALOGUE, GAMES, find_game
from selfplay.errors import IncompatibleError

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta


def check_known(game: str) -> None:
    """Check a game that a file names.

    Raises:
        IncompatibleError: it is not found here.
    """
    if game not in (*GAMES, *DIALOGUE) and not is_plugin(game):
        raise IncompatibleError(
            f"the game {game!r} is not known here; it was an entry point of an installed package (group {GROUP}): "
            "install that package"
        )


def game_of(meta: PolicyMeta) -> str:
    """Name of the game that a policy plays: what it was trained on, or, where nothing is said of that, the mock.

    Raises:
        IncompatibleError: it is not found here.
    """
    match meta.config:
        case {"game": {"type": str(name)}}:
            check_known(name)
            return name
        case _:
            return "mock"


def can_play(meta: PolicyMeta, game: str) -> bool:
    """Return True if a policy can play a game: its own, or any fight, as fights share encoder and controller."""
    own = game_of(meta)
    return own == game or (find_game(own).fighter and find_game(game).fighter)
