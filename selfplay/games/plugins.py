"""Code from outside this package: games of other libraries, entry points of packages, and your own code.

    pettingzoo:pettingzoo.classic.connect_four_v3    a module of PettingZoo
    openspiel:leduc_poker(players=2)                 a game of OpenSpiel, as it spells the name and the parameters
    textarena:TicTacToe-v0                           a text game of TextArena
    my_package.my_game:make                          a module, and in it a ``Game`` or what makes a game; with a
                                                     parameter ``num_games``, what makes a block of games, or a
                                                     ``VectorEnv`` of Gymnasium with both seats of each game, or
                                                     ``Rules`` of a game that is written down whole
    my_game                                          an entry point of the group ``selfplay.games``

Nothing is imported before a game is asked for by its name. Networks of your own are imported by the same rules.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from selfplay.distribution import entry_points, is_of_project
from selfplay.games.errors import GameError, error_context
from selfplay.games.spelling import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from selfplay.games.api import ScriptedGame
    from selfplay.games.game import Game
    from selfplay.games.solved.table import Rules

GROUP: Final = "selfplay.games"
PETTINGZOO: Final = "pettingzoo:"
OPENSPIEL: Final = "openspiel:"
TEXTARENA: Final = "textarena:"
_allowed: set[str] = set()
_imported: ContextVar[str] = ContextVar("imported", default="")  # module that ``load`` is importing


class MakeSingle(Protocol):
    """Makes one game; ``render`` says whether it must be able to render."""

    def __call__(self, render: bool = True) -> Game: ...


@cache
def installed() -> dict[str, EntryPoint]:
    """Entry points of games by name."""
    return entry_points(GROUP)


def is_known(name: str) -> bool:
    """Return True if a name is that of an installed game, or has the form ``module:name``; the game may not exist."""
    return ":" in name or name in installed()


def is_own(name: str) -> bool:
    """Return True if an installed game is of this project."""
    return name in installed() and is_of_project(installed()[name])


def is_code(name: str) -> bool:
    """Return True if a person has to allow a name: ``module:attribute``, or a game of OpenSpiel with parameters.

    OpenSpiel does not check all parameters: some corrupt the memory of the process.
    """
    if name.startswith(OPENSPIEL):
        return "(" in name
    return ":" in name and not name.startswith((PETTINGZOO, TEXTARENA))


def spelling(name: str) -> str:
    """The name under which a game is kept; games of OpenSpiel have several.

    Raises:
        GameError: OpenSpiel has no such game.
    """
    if not name.startswith(OPENSPIEL):
        return name
    from selfplay.games.openspiel_names import canonical

    with error_context(f"--game-type {name}"):
        return f"{OPENSPIEL}{canonical(name.removeprefix(OPENSPIEL))}"


def allow(name: str, folder: str | None = None) -> None:
    """Let a name be used that ``is_code``: a person typed it, which a file of a run does not prove.

    Args:
        name: Of a game or a network. Other kinds of names need no permission.
        folder: Where modules are looked for, too; by default the current one.
    """
    if is_code(name):
        with suppress(GameError):  # the name of no game, which is refused where it is used
            _allowed.add(spelling(name))
    if is_code(name) and not name.startswith(OPENSPIEL):
        folder = os.getcwd() if folder is None else folder
        if folder not in sys.path:
            sys.path.append(folder)


def load(name: str, flag: str) -> Any:  # noqa: ANN401
    """Import the object that ``module:attribute`` names.

    Args:
        name: Must be allowed.
        flag: With which a person gives such a name; stands in messages.
    """
    _check_allowed(name, flag, "is code")
    path, _, attribute = name.partition(":")
    with error_context(f"{flag} {name}"):
        if near := meant_module(name):
            raise GameError(f"a module is named as Python imports it; did you mean {near!r}?")
        before = _imported.set(path)
        try:
            module = import_module(path)
        finally:
            _imported.reset(before)
        if not hasattr(module, attribute):
            near = nearest(attribute, [each for each in vars(module) if not each.startswith("_")])
            raise GameError(f"{path} has no {attribute!r}{f'; did you mean {near!r}?' if near else ''}")
        return getattr(module, attribute)


def _check_allowed(name: str, flag: str, what: str) -> None:
    if is_code(name) and name not in _allowed:
        raise GameError(
            f"{name} {what} that a file names, and files can be anybody's; if you want it to run, add {flag} "
            f"{shlex.quote(name)}"
        )


def meant_module(name: str) -> str | None:
    """``module:attribute``, where a name is the path of a file, or a module of this folder without the attribute."""
    path, _, attribute = name.partition(":")
    if path.endswith(".py") or "/" in path:
        relative = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
        parts = relative.removesuffix(".py").split(os.sep)
        return f"{'.'.join(part for part in parts if part != os.pardir)}:{attribute or 'NAME'}"
    if ":" in name:
        return None
    package, _, last = name.rpartition(".")
    for module, attribute in ((name, "NAME"), (package, last)):
        place = module.replace(".", os.sep)
        if module and (os.path.isfile(f"{place}.py") or os.path.isfile(os.path.join(place, "__init__.py"))):
            return f"{module}:{attribute}"
    return None


def meant_environment(name: str) -> str | None:
    """The name of the environment of PettingZoo that was probably meant, with or without its package and version."""
    spec = find_spec("pettingzoo")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*/*_v[0-9]*.py"))
    modules = {re.sub(r"_v\d+$", "", file.stem): f"pettingzoo.{file.parent.name}.{file.stem}" for file in files}
    wanted = re.split(r"[.:/]", name)[-1].removesuffix(".py")
    near = nearest(re.sub(r"_v\d+$", "", wanted), modules)
    return None if near is None else f"{PETTINGZOO}{modules[near]}"


def refuse_in_import(call: str) -> None:
    """Refuse a call that a module makes while ``load`` imports it: each import, also in game processes, repeats it.

    Args:
        call: Name of the called function.
    """
    if module := _imported.get():
        raise GameError(
            f'{module} calls {call} while it is imported; put the call under if __name__ == "__main__": at its end, so '
            f"that only running {module} makes it"
        )


def find_object(name: str) -> object:
    """Return what a name stands for: a description of a game, a ``Game``, ``Rules``, or what makes games."""
    return _factory(name)


def as_rules(found: object, name: str) -> Rules[Any] | None:
    """What a name stands for as the rules of a game that is written down whole; None if it is no such rules."""
    from selfplay.games.solved.table import Rules

    if not isinstance(found, Rules):
        return None
    if not isinstance(found, type):
        return found
    with error_context(f"--game-type {name}"):
        made: Rules[Any] = found()
        return made


def find_block(name: str) -> Callable[..., ScriptedGame] | None:
    """Return the factory of blocks of ``num_games`` games; None if the name makes single games."""
    factory = _factory(name)
    with error_context(f"--game-type {name}"):
        return partial(_block, factory) if "num_games" in inspect.signature(factory).parameters else None


def _block(factory: Callable[..., Any], num_games: int, **options: Any) -> ScriptedGame:  # noqa: ANN401
    made: ScriptedGame = factory(num_games=num_games, **options)
    if "gymnasium" in sys.modules:  # nothing can be its environment before
        from gymnasium.vector import VectorEnv

        if isinstance(made, VectorEnv):
            from selfplay.games.gymnasium_games import GymnasiumGames

            return GymnasiumGames(made, num_games)
    return made


def find_single(name: str) -> MakeSingle:
    """Return the factory of single games of that name, see the module."""
    factory = _factory(name)
    takes = inspect.signature(factory).parameters.values()
    takes_mode = any(each.name == "render_mode" or each.kind is each.VAR_KEYWORD for each in takes)

    def make(render: bool = True) -> Game:
        from selfplay.games.game import Game

        made = factory()
        if isinstance(made, Game):
            return made
        from selfplay.games.pettingzoo_games import adapted, render_mode

        if render and takes_mode and (mode := render_mode(made)):
            made.close()
            made = factory(render_mode=mode)
        return adapted(made)

    return make


def _factory(name: str) -> Any:  # noqa: ANN401
    if name.startswith(OPENSPIEL):
        from selfplay.games.openspiel_games import kind_of_name

        kept = spelling(name)
        _check_allowed(kept, "--game-type", "has parameters")
        return kind_of_name(kept)
    if name.startswith(TEXTARENA):
        from selfplay.games.textarena_games import class_of_name

        return class_of_name(name)
    if is_code(name) and name not in installed():
        return load(name, "--game-type")
    with error_context(f"--game-type {name}"):
        if name in installed():
            return installed()[name].load()
        from selfplay.games.pettingzoo_games import find_factory

        return find_factory(name.removeprefix(PETTINGZOO))
