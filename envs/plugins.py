"""Code from outside this package: environments of PettingZoo, entry points of installed packages, and your own code.

    pettingzoo:pettingzoo.classic.connect_four_v3    a module of PettingZoo
    my_package.my_game:make                          a module, and in it a ``Game`` or what makes a game; with a
                                                     parameter ``num_games``, what makes a block of games
    my_game                                          an entry point of the group ``selfplay.games``

Nothing is imported before a game is asked for by its name. Networks of your own are imported by the same rules.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from envs.errors import GameError
from envs.spelling import nearest

if TYPE_CHECKING:
    from envs.api import ScriptedGame
    from envs.game import Game

GROUP: Final = "selfplay.games"
PETTINGZOO: Final = "pettingzoo:"
_allowed: set[str] = set()


class MakeSingle(Protocol):
    """Makes one game; ``render`` says whether it must be able to render."""

    def __call__(self, render: bool = True) -> Game: ...


@cache
def installed() -> dict[str, EntryPoint]:
    """Entry points of games by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def is_plugin(name: str) -> bool:
    """Whether the name is one of a game from outside; it may still not exist."""
    return ":" in name or name in installed()


def is_code(name: str) -> bool:
    """Whether the name is one of a module, which a person has to name: ``module:attribute``."""
    return ":" in name and not name.startswith(PETTINGZOO)


def allow(name: str, folder: str | None = None) -> None:
    """Let a name ``module:attribute`` be imported: a person typed it, which a file of a run does not prove.

    Args:
        name: Of a game or a network. Other kinds of names need no permission.
        folder: Where modules are looked for, too; by default the current one.
    """
    if is_code(name):
        _allowed.add(name)
        folder = os.getcwd() if folder is None else folder
        if folder not in sys.path:
            sys.path.append(folder)


def load(name: str, flag: str) -> object:
    """What a name ``module:attribute`` stands for.

    Args:
        name: Must be allowed.
        flag: With which a person gives such a name; stands in messages.

    Raises:
        GameError: it is not allowed to be imported, or cannot be.
    """
    if name not in _allowed:
        raise GameError(
            f"{name} is code that a file names, and files can be anybody's; if you want it to run, add {flag} {name}"
        )
    return _loaded(f"{flag} {name}", lambda: _attribute(name))


def find_block(name: str) -> Callable[..., ScriptedGame] | None:
    """What makes blocks of ``num_games`` games of that name; None where games are made one by one.

    Raises:
        GameError: see ``find_single``.
    """
    if name.startswith(PETTINGZOO):
        return None
    factory = _factory(name)
    return factory if "num_games" in inspect.signature(factory).parameters else None


def find_single(name: str) -> MakeSingle:
    """What makes games of that name, see the module.

    Raises:
        GameError: it cannot be imported, is not allowed to be, or is no game.
    """
    if name.startswith(PETTINGZOO):
        module = name.removeprefix(PETTINGZOO)
        from envs.pettingzoo_games import from_pettingzoo

        return lambda render=True: from_pettingzoo(module, render)
    return _making(name, _factory(name))


def _factory(name: str) -> Callable[..., Any]:
    if name in installed():
        factory = _loaded(f"--game-type {name}", installed()[name].load)
    else:
        factory = load(name, "--game-type")
    if not callable(factory):
        raise GameError(f"--game-type {name}: {factory!r} cannot be called; a Game, or a function that makes one, can")
    return factory


def _attribute(name: str) -> object:
    path, _, attribute = name.partition(":")
    if not path or not attribute.isidentifier() or not all(part.isidentifier() for part in path.split(".")):
        raise GameError("a module and a name in it are needed, module:name")
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise GameError(f"there is no module {error.name} here, nor among the installed packages") from error
    if not hasattr(module, attribute):
        near = nearest(attribute, [each for each in vars(module) if not each.startswith("_")])
        raise GameError(f"{path} has no {attribute!r}{f'; did you mean {near!r}?' if near else ''}")
    found: object = getattr(module, attribute)
    return found


def _loaded(where: str, get: Callable[[], object], what: str = "importing it") -> object:
    try:
        return get()
    except GameError as error:
        raise GameError(f"{where}: {error}") from error
    except Exception as error:
        raise GameError(f"{where}: {what} failed: {type(error).__name__}: {error}") from error


def _making(name: str, factory: Callable[..., Any]) -> MakeSingle:
    takes_mode = "render_mode" in inspect.signature(factory).parameters

    def make(render: bool = True) -> Game:
        from envs.game import Game

        made: Any = _loaded(f"--game-type {name}", factory, "making it")
        if isinstance(made, Game):
            return made
        from envs.pettingzoo_games import adapted, render_mode

        mode = render_mode(made) if render and takes_mode else None
        single: Game = adapted(made if mode is None else factory(render_mode=mode), name)
        return single

    return make
