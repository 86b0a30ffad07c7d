"""The programs that train, and their checks of names; from values by dotted name to a call of a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from selfplay.config import presets, program
from selfplay.config.game_settings import game_settings
from selfplay.config.options import flag_of, paths
from selfplay.config.ppo import Config, RunConfig, config_type, options_of
from selfplay.config.program import Invocation, Program
from selfplay.config.words import check_name
from selfplay.errors import ConfigError
from selfplay.games.openspiel_names import meant_game
from selfplay.games.plugins import PETTINGZOO, allow, is_known, meant_environment, meant_module, spelling
from selfplay.games.registry import DEFAULT, find_game, find_kind, games_called, games_of, known_games
from selfplay.games.spelling import nearest
from selfplay.league.modes import MODES


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
    if meant := games_called(name):
        raise ConfigError(f"--game-type {name}: did you mean {' or '.join(meant)}?")
    if name.startswith("pettingzoo."):
        raise ConfigError(f"--game-type {name}: did you mean '{PETTINGZOO}{name}'?")
    valid = known_games()
    near = meant_module(name) or meant_environment(name) or meant_game(name)
    if name not in valid and nearest(name, valid) is None and near is not None:
        raise ConfigError(
            f"--game-type {name}: unknown, did you mean {near!r}? (valid: module:name, {', '.join(valid)})"
        )
    check_name("--game-type", name, valid)


def check_own_code(explicit: dict[str, Any], game: str = "game.type") -> None:
    """Check the ``game``, before types are validated, which would not name the nearest; it gets the name that it keeps.

    A network of the user's own, named by the user, may be imported from here on.
    """
    allow_trackers(explicit)
    if isinstance(name := explicit.get(game), str):
        check_game(name)
        explicit[game] = spelling(name)
    if isinstance(name := explicit.get("net.backbone"), str):
        if (".py" in name or "/" in name) and (near := meant_module(name)):
            raise ConfigError(f"--backbone {name}: a module is named as Python imports it; did you mean {near!r}?")
        allow(name)


def allow_trackers(explicit: Mapping[str, Any]) -> None:
    """Allow trackers of the user's own, named by the user, to be imported."""
    names = explicit.get("run.report_to", ())
    for name in names if isinstance(names, (list, tuple)) else ():
        allow(str(name))


def _end_ppo(explicit: dict[str, Any]) -> None:
    """A time limit alone ends a run."""
    if "run.max_minutes" in explicit and "run.timesteps" not in explicit:
        explicit["run.timesteps"] = None


def _check_ppo(config: Config) -> None:
    config.game.own_settings.check(config)
    check_name("--mode", config.league.mode, sorted(MODES))
    for name in config.league.held_out or ():
        check_name("--held-out", name, tuple(config.game.kind.rated.players))


@cache
def ppo_program(game: str) -> Program[Config]:
    """The settings of a game, with its own."""
    return Program(
        settings=config_type(game),
        options=options_of(game),
        presets={**game_settings(game).presets, **presets.PPO},
        example=("ppo.gamma", "0.98"),
        imply=_end_ppo,
        check=_check_ppo,
        elsewhere=partial(games_with, game),
    )


def games_with(game: str, path: str) -> str | None:
    """End of the message for a setting that only other games have; None if none has it."""
    games = [other for other in games_of("ppo") if path in paths(config_type(other))]
    return f"goes with --game-type {' or '.join(games)}; --game-type {game} has no use for it" if games else None


def invoke_ppo(
    explicit: dict[str, Any], preset: str | None = None, resume: bool = False, game: str | None = None
) -> Invocation[Config]:
    """The call with the values that the user gave, see ``program.invoke``. A bare call gets the preset of its game.

    A call is bare if it gives neither a preset nor a setting that the preset has, except what the run starts from. A
    call with some of these settings keeps the plain defaults: it would mix them with values that were not asked for.
    Its notice names them. ``game`` is that of the run to resume.
    """
    check_own_code(explicit)
    name = explicit.get("game.type", game or DEFAULT)
    if not (isinstance(name, str) and is_known(name)):
        return program.invoke(ppo_program(DEFAULT), explicit)  # refuses the name
    made, implied = ppo_program(name), None if preset or resume else find_game(name).preset
    if implied is None:
        return program.invoke(made, explicit, preset, resume)
    own = implied in game_settings(name).presets  # a preset of the game's own is meant to be rated
    settings = program.preset_values(made, implied).keys() - {"run.pretrained"}
    if given := [flag_of(made.options, path) for path in explicit if path in settings]:
        rated = " --track-elo" if own and "league.track_elo" not in explicit else ""
        why = f"Plain defaults, not preset {implied}, because of {', '.join(given)}"
        call = program.invoke(made, explicit, preset)
        return replace(call, notice=f"{why}. With the preset: --preset {implied}{rated}")
    if own:
        explicit.setdefault("league.track_elo", True)
    call = program.invoke(made, explicit, implied)
    return replace(call, notice=_limits(call))


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
