"""Games by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from envs.errors import UnknownNameError
from envs.melee.mock import MockMelee

GAMES: Final[dict[str, Callable[..., MockMelee]]] = {"mock": MockMelee}


def make_game(name: str, **options: Any) -> MockMelee:  # noqa: ANN401
    """A block of games; ``options`` are the keyword arguments of the game's constructor, JSON-able all of them."""
    if name not in GAMES:
        raise UnknownNameError("game", name, GAMES)
    return GAMES[name](**options)
