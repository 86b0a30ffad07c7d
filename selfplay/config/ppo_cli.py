"""The command line of ``selfplay train``, and what all scripts need of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from envs.errors import GameError, UnknownNameError
from envs.melee.tables import check_readable
from envs.plugins import PETTINGZOO, allow, is_plugin, meant_environment, meant_module
from envs.registry import DIALOGUE, GAMES, GameEntry, find_character, find_game, known_games
from envs.spelling import nearest
from selfplay.config import command_line, dialogue, presets
from selfplay.config.command_line import Invocation, Program, check_name
from selfplay.config.ppo import OPTIONS, RANDOM, Config, RunConfig
from selfplay.errors import ConfigError
from selfplay.league.modes import MODES

EPILOG: Final = f"""modes: {", ".join(sorted(MODES)[:-1])},
  {max(MODES)}; --character list and --stage list show the others of these names
Without settings of a preset: laptop with --track-elo for fights, else board
examples:
  selfplay train --resume --timesteps 20M
  selfplay train --game-type matching --help  # dialogue games
"""


FIGHTS_PRESET: Final = "laptop"
GAMES_PRESET: Final = "board"
MELEE: Final = "--game-type mock, or dolphin for the real game"


def check_game(name: str) -> None:
    """Refuse a game that does not exist; your own code, named by you, may be imported from here on.

    Raises:
        ConfigError: with the nearest and all others.
        GameError: it is from outside and cannot be used.
    """
    if is_plugin(name):
        allow(name)
        find_game(name)
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


def _imply(explicit: dict[str, Any]) -> None:
    """A time limit alone ends a run."""
    if "run.max_minutes" in explicit and "run.timesteps" not in explicit:
        explicit["run.timesteps"] = None


def _check_names(config: Config) -> None:
    game = config.game.entry
    if game.fighter:
        names = (config.game.character, config.game.opponent_character, config.game.stage)
        check_readable(*{*names} - {*game.characters, *game.stages})  # whose files were read
        _check_character("--character", config.game.character, game)
        _check_character("--opponent-character", config.game.opponent_character, game)
        check_name("--stage", config.game.stage, [*sorted(game.stages), RANDOM])
    check_name("--mode", config.league.mode, sorted(MODES))
    for name in config.league.held_out or ():
        check_name("--held-out", name, tuple(game.rated.players))


def _check_character(flag: str, name: str | None, game: GameEntry) -> None:
    if name in (None, RANDOM):
        return
    try:
        find_character(game, name)
    except UnknownNameError:
        check_name(flag, name, [*sorted(game.characters), RANDOM])
    except GameError as error:
        raise ConfigError(f"{flag} {name}: {error}") from error


PROGRAM: Final = Program(
    description="Train a policy by self-play.",
    epilog=EPILOG,
    settings=Config,
    options=OPTIONS,
    presets=presets.PPO,
    example=("ppo.gamma", "0.98"),
    page="docs/guide.md",
    resume="Continue the run of --checkpoint, or the newest",
    imply=_imply,
    check=_check_names,
    words={name: f"--game-type {name}" for name in (*GAMES, *DIALOGUE)} | {"melee": MELEE},
    elsewhere={
        flag: f"the dialogue games: --game-type {' or '.join(DIALOGUE)}"
        for flag in (option.flag for option in dialogue.OPTIONS)
        if flag not in {mine.flag for mine in OPTIONS}
    },
)


def parse(arguments: Sequence[str]) -> Invocation[Config]:
    """The configuration that the arguments ask for; errors as of ``command_line.parse``."""
    explicit, preset, resume = command_line.read(PROGRAM, arguments)
    return invoke(explicit, preset, resume=resume)


def invoke(explicit: dict[str, Any], preset: str | None = None, *, resume: bool = False) -> Invocation[Config]:
    """The same of values by dotted name, which are added to. A bare call gets the preset of its game.

    A call is bare if it gives neither a preset nor a setting that the preset has, except what the run starts from. A
    call with some of these settings keeps the plain defaults: it would mix them with values that were not asked for.
    """
    check_own_code(explicit)
    implied = None if preset or resume else _preset_of(explicit)
    settings = command_line.preset_values(PROGRAM, implied).keys() - {"run.pretrained"}
    if implied is None or settings & explicit.keys():
        return command_line.invoke(PROGRAM, explicit, preset, resume=resume)
    if implied == FIGHTS_PRESET:
        explicit.setdefault("league.track_elo", True)
    call = command_line.invoke(PROGRAM, explicit, implied)
    return replace(call, notice=_limits(call))


def _preset_of(explicit: Mapping[str, Any]) -> str | None:
    """The preset for a game; None for games in real time, and names that the checks of the settings refuse."""
    name = explicit.get("game.type", Config().game.type)
    if not (isinstance(name, str) and (name in GAMES or is_plugin(name))):
        return None
    game = find_game(name)
    if game.real_time:
        return None
    return FIGHTS_PRESET if game.fighter else GAMES_PRESET


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
