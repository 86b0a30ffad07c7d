"""Names of OpenSpiel's games: ``openspiel:leduc_poker(players=2)``, as OpenSpiel spells a game and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from selfplay.distribution import install_command
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.plugins import OPENSPIEL

if TYPE_CHECKING:
    from types import ModuleType

LONGEST: Final = 500  # characters of a name: OpenSpiel reads games in games by recursion, without a limit
READS_FILES: Final = re.compile("file|root")  # names of parameters that are paths


def library() -> ModuleType:
    """``pyspiel``; GameError with the command that installs it, if it is missing."""
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise GameError(f"OpenSpiel is missing: {install_command('openspiel')}") from error
    found: ModuleType = pyspiel
    return found


def meant_game(name: str) -> str | None:
    """The name of a game of OpenSpiel that was given without its prefix; None if there is none, or no OpenSpiel."""
    if find_spec("pyspiel") is None or name.partition("(")[0] not in library().registered_names():
        return None
    return f"{OPENSPIEL}{name}"


@contextmanager
def openspiel_errors(spelled: str) -> Iterator[None]:
    """Raise errors of OpenSpiel about a game as one line."""
    try:
        yield
    except (library().SpielError, ValueError, MemoryError) as error:
        raise GameError(f"OpenSpiel refuses {spelled}: {' '.join(str(error).split())}") from error


def canonical(spelled: str) -> str:
    """The shortest name of the game that a name stands for, so that equal games have equal names.

    Raises:
        GameError: no such game or parameter; the message says what is valid.
    """
    name: str = library().game_parameters_to_string(_parameters(spelled))
    return name.removesuffix("()")


def load(spelled: str) -> Any:
    """The ``pyspiel.Game`` of a name as OpenSpiel spells it.

    Raises:
        GameError: as of ``canonical``, and for a game that cannot be played here.
    """
    pyspiel = library()
    parameters = _parameters(spelled)
    with openspiel_errors(spelled):
        game = pyspiel.load_game(parameters["name"], {key: parameters[key] for key in parameters if key != "name"})
    _check_playable(game, pyspiel)
    return game


def _parameters(spelled: str) -> dict[str, Any]:
    pyspiel = library()
    return _checked(_parsed(spelled, pyspiel), {each.short_name: each for each in pyspiel.registered_games()})


def _parsed(spelled: str, pyspiel: ModuleType) -> dict[str, Any]:
    """The parameters of a name. Brackets are checked here: OpenSpiel writes its errors to the standard error stream."""
    if len(spelled) > LONGEST:
        raise GameError(f"the name of a game has {len(spelled):,} characters (valid: {LONGEST} at most)")
    depth = [spelled[: at + 1].count("(") - spelled[: at + 1].count(")") for at in range(len(spelled))]
    closed = re.fullmatch(r"\w+(\(.*\))?", spelled) and depth[-1] == 0 and min(depth) >= 0
    if not closed:
        raise GameError(f"{spelled!r} is no name of a game (valid: NAME or NAME(parameter=value,...))")
    with openspiel_errors(spelled):
        found: dict[str, Any] = pyspiel.game_parameters_from_string(spelled)
    return found


def _checked(parameters: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a game without those that have their defaults, also of a game that is one of them."""
    name = parameters["name"]
    if name not in types:
        raise UnknownNameError("game of OpenSpiel", name, types)
    known, found = types[name].parameter_specification, {"name": name}
    for key, value in parameters.items():
        if key == "name":
            continue
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, known)
        if READS_FILES.search(key):
            raise GameError(f"{name} reads the file that {key} names, which is not supported")
        if key == "players" and value != 2:
            raise GameError(f"{name} with players={value}: only games of two are supported (valid: players=2)")
        given = _value(f"{name}: {key}", value, known[key], types)
        if given != known[key]:
            found[key] = given
    return found


def _value(what: str, value: Any, default: Any, types: dict[str, Any]) -> Any:
    """A value of the type of the default; whole numbers are numbers, too."""
    if isinstance(default, dict):
        if not isinstance(value, dict):
            raise GameError(f"{what} is {value!r} (valid: a game, such as kuhn_poker())")
        return _checked(value, types)
    if type(default) is float and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        if type(default) is str:
            return str(value)
        kind = {bool: "True or False", int: "a whole number", float: "a number"}[type(default)]
        raise GameError(f"{what} is {value!r} (valid: {kind}, such as {default})")
    return value


def _check_playable(game: Any, pyspiel: ModuleType) -> None:
    kind = game.get_type()
    if kind.dynamics not in (pyspiel.GameType.Dynamics.SEQUENTIAL, pyspiel.GameType.Dynamics.SIMULTANEOUS):
        raise GameError(f"{kind.short_name} is a mean-field game, which is not supported (valid: games of two players)")
    if game.num_players() != 2:
        two = kind.min_num_players <= 2 <= kind.max_num_players and "players" in kind.parameter_specification
        valid = f"{kind.short_name}(players=2)" if two else "games of two"
        raise GameError(f"{kind.short_name} is a game of {game.num_players()} players (valid: {valid})")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(
            f"{kind.short_name} draws its chances inside, so that no episode can be repeated from its seed "
            "(valid: games with explicit chance nodes)"
        )
    if not (kind.provides_information_state_tensor or kind.provides_observation_tensor):
        raise GameError(f"{kind.short_name} has no tensor of what a player sees, which a policy needs")
