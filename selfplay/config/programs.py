"""The programs that train, and their checks of names; from values by dotted name to a call of a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from selfplay.config import presets, program
from selfplay.config.options import flag_of
from selfplay.config.ppo import OPTIONS, RANDOM, Config, RunConfig
from selfplay.config.program import Invocation, Program
from selfplay.config.words import check_name
from selfplay.errors import ConfigError
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.plugins import PETTINGZOO, allow, is_known, meant_environment, meant_module
from selfplay.games.registry import DEFAULT, find_game, find_kind, known_games
from selfplay.games.spelling import nearest
from selfplay.league.modes import MODES
from selfplay_melee.kinds import find_character
from selfplay_melee.tables import check_readable

if TYPE_CHECKING:
    from selfplay.games.kind import GameKind

FIGHTS_PRESET: Final = "laptop"
MELEE: Final = "--game-type mock, or dolphin for the real game"


def check_game(name: str) -> None:
    """Refuse a game that does not exist; your own code, named by you, may be imported from here on.

    Raises:
        ConfigError: with the nearest and all others.
        GameError: it is from outside and cannot be used.
    """
    if is_known(name):
        allow(name)
        find_kind(name)
        return
    if "melee" in name.lower():
        raise ConfigError(f"--game-type {name}: did you mean {MELEE}?")
    if name.startswith("pettingzoo."):
        raise ConfigError(f"--game-type {name}: did you mean '{PETTINGZOO}{name}'?")
    valid = known_games()
    if name not in valid and nearest(name, valid) is None and (near := meant_module(name) or meant_environment(name)):
        raise ConfigError(
            f"--game-type {name}: unknown, did you mean {near!r}? (valid: module:name, {', '.join(valid)})"
        )
    check_name("--game-type", name, valid)


def check_own_code(explicit: dict[str, Any], game: str = "game.type") -> None:
    """Check the ``game``, before types are validated, which would not name the nearest.

    A network of the user's own, named by the user, may be imported from here on.
    """
    if isinstance(name := explicit.get(game), str):
        check_game(name)
    if isinstance(name := explicit.get("net.backbone"), str):
        if (".py" in name or "/" in name) and (near := meant_module(name)):
            raise ConfigError(f"--backbone {name}: a module is named as Python imports it; did you mean {near!r}?")
        allow(name)


def _end_ppo(explicit: dict[str, Any]) -> None:
    """A time limit alone ends a run."""
    if "run.max_minutes" in explicit and "run.timesteps" not in explicit:
        explicit["run.timesteps"] = None


def _check_ppo(config: Config) -> None:
    game = config.game.entry
    if game.stages:
        names = (config.game.character, config.game.opponent_character, config.game.stage)
        check_readable(*{*names} - {*game.characters, *game.stages})  # whose files were read
        _check_character("--character", config.game.character, game)
        _check_character("--opponent-character", config.game.opponent_character, game)
        check_name("--stage", config.game.stage, [*sorted(game.stages), RANDOM])
    check_name("--mode", config.league.mode, sorted(MODES))
    for name in config.league.held_out or ():
        check_name("--held-out", name, tuple(game.rated.players))


def _check_character(flag: str, name: str | None, game: GameKind) -> None:
    if name in (None, RANDOM):
        return
    try:
        find_character(game, name)
    except UnknownNameError:
        check_name(flag, name, [*sorted(game.characters), RANDOM])
    except GameError as error:
        raise ConfigError(f"{flag} {name}: {error}") from error


PPO: Final = Program(
    settings=Config,
    options=OPTIONS,
    presets=presets.PPO,
    example=("ppo.gamma", "0.98"),
    imply=_end_ppo,
    check=_check_ppo,
)


def invoke_ppo(explicit: dict[str, Any], preset: str | None = None, resume: bool = False) -> Invocation[Config]:
    """The call with the values that the user gave, see ``program.invoke``. A bare call gets the preset of its game.

    A call is bare if it gives neither a preset nor a setting that the preset has, except what the run starts from. A
    call with some of these settings keeps the plain defaults: it would mix them with values that were not asked for.
    Its notice names them.
    """
    check_own_code(explicit)
    implied = None if preset or resume else _preset_of(explicit)
    if implied is None:
        return program.invoke(PPO, explicit, preset, resume)
    settings = program.preset_values(PPO, implied).keys() - {"run.pretrained"}
    if given := [flag_of(OPTIONS, path) for path in explicit if path in settings]:
        rated = " --track-elo" if implied == FIGHTS_PRESET and "league.track_elo" not in explicit else ""
        why = f"Plain defaults, not preset {implied}, because of {', '.join(given)}"
        call = program.invoke(PPO, explicit, preset)
        return replace(call, notice=f"{why}. With the preset: --preset {implied}{rated}")
    if implied == FIGHTS_PRESET:
        explicit.setdefault("league.track_elo", True)
    call = program.invoke(PPO, explicit, implied)
    return replace(call, notice=_limits(call))


def _preset_of(explicit: Mapping[str, Any]) -> str | None:
    """The preset of a game; None also for names that the checks of the settings refuse."""
    name = explicit.get("game.type", DEFAULT)
    if not (isinstance(name, str) and is_known(name)):
        return None
    return find_game(name).preset


def _limits(call: Invocation[Config]) -> str:
    """One line about a run whose preset was not named."""
    run, plain = call.config.run, RunConfig()
    ends = [f"{run.timesteps:,} steps"] if run.timesteps is not None else []
    ends += [f"{run.max_minutes:g} min"] if run.max_minutes is not None else []
    rated = " with ratings" if call.config.league.track_elo else ""
    return (
        f"Preset {call.preset}{rated}: {', '.join(ends)}, {run.num_games} games at once. "
        f"--preset none has the plain defaults: {plain.timesteps:,} steps, {plain.num_games} games"
    )
