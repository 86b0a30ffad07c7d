"""Games by name: installed ones, those of PettingZoo, and ``module:name``."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from selfplay.games import plugins
from selfplay.games.errors import GameError, UnknownNameError, error_context
from selfplay.games.kind import AnyKind, GameKind, TextKind
from selfplay.games.plain import described
from selfplay.games.text_game import TextGame, defaults_of
from selfplay.games.vector import SyncVectorGame

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame

DEFAULT: Final = "mock"
"""The game of a call that names none."""


@cache
def _described(name: str) -> AnyKind:
    """The description of a game.

    Raises:
        GameError: it cannot be imported, is not allowed to be, is no game, or has not what a trainer needs.
    """
    if isinstance(brought := plugins.find_object(name), AnyKind):
        return brought
    if isinstance(brought, type) and issubclass(brought, TextGame):
        return TextKind(lambda: brought, defaults_of(brought))
    if (rules := plugins.as_rules(brought, name)) is not None:
        from selfplay.games.solved.rules_kind import kind_of_rules

        with error_context(f"--game-type {name}"):
            return kind_of_rules(name, rules)
    if (make := plugins.find_block(name)) is not None:
        return described(name, make)
    single = plugins.find_single(name)
    return described(name, partial(SyncVectorGame, partial(single, False)), single)


def find_kind(name: str) -> AnyKind:
    """The game of that name.

    Raises:
        UnknownNameError: there is none.
        GameError: it cannot be used, see ``selfplay.games.plugins``.
    """
    if not plugins.is_known(name):
        raise UnknownNameError("game", name, known_games(), next(iter(games_called(name)), None))
    return _described(name)


def find_game(name: str) -> GameKind:
    """The game of that name, whose players choose numbered actions.

    Raises:
        UnknownNameError: there is none.
        GameError: it is a text game, or cannot be used, see ``selfplay.games.plugins``.
    """
    kind = find_kind(name)
    if not isinstance(kind, GameKind):
        raise GameError(f"{name} is a text game, which is not played here (valid: {', '.join(games_of('ppo'))})")
    return kind


def known_games() -> tuple[str, ...]:
    """Names of all installed games, the default first."""
    return tuple(sorted(plugins.installed(), key=lambda name: (name != DEFAULT, name)))


def games_of(training: str) -> tuple[str, ...]:
    """Names of the games of this project's packages that a training has; they are loaded."""
    own = (name for name in known_games() if plugins.is_own(name))
    return tuple(name for name in own if find_kind(name).training == training)


def games_called(word: str) -> tuple[str, ...]:
    """Names of the games that a word means that is no name of a game, see ``GameKind.aliases``."""
    return tuple(name for name in games_of("ppo") if any(each in word.lower() for each in find_game(name).aliases))


def shares_policies(one: str, other: str) -> bool:
    """Return True if policies of one game can play the other: the same game, or two kinds that share them."""
    return one == other or (find_game(one).shares == find_game(other).shares != "")


def make_game(name: str, **options: Any) -> ScriptedGame:  # noqa: ANN401
    """A block of games; ``options`` are the keyword arguments of the game's constructor, JSON-able all of them."""
    return find_game(name).make(**options)
