"""Which game a policy plays, and what its file says of that game; loads no torch."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.games.plugins import GROUP, is_known
from selfplay.games.registry import find_game, shares_policies

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.games.rated import Body


def check_known(game: str) -> None:
    """Refuse a game that a file names and that is not found here (IncompatibleError)."""
    if not is_known(game):
        raise IncompatibleError(
            f"the game {game!r} is not known here; it was an entry point of an installed package (group {GROUP}): "
            "install that package"
        )


def game_of(meta: PolicyMeta) -> str:
    """Name of the game that a policy plays; IncompatibleError if it is not found here."""
    check_known(meta.game)
    return meta.game


def body_of(meta: PolicyMeta) -> Body:
    """What a policy's file says of its game; IncompatibleError if the game is not found here, or has other settings."""
    body = find_game(game_of(meta)).body
    with boundary(IncompatibleError, f"{meta.id}: its file does not say what a policy of {meta.game} needs"):
        return _checked(body).validate_python(meta.body)


@cache
def _checked(body: type[Body]) -> TypeAdapter[Body]:
    return TypeAdapter(body)


def can_play(meta: PolicyMeta, game: str) -> bool:
    """Return True if a policy can play a game, see ``shares_policies``."""
    return shares_policies(game_of(meta), game)


def check_plays(meta: PolicyMeta, game: str, what: str) -> None:
    """Refuse a policy of another game, which ``what`` names (ConfigError)."""
    if not can_play(meta, game):
        raise ConfigError(f"{what} plays {game_of(meta)}, not {game}")
