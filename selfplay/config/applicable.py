"""Settings that do not apply to the game, or not beside others: given explicitly they are refused, else ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.config.options import flag_of
from selfplay.config.ppo import OPTIONS, Config, LeagueConfig
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game, games_of
from selfplay.runner.chaos import check_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from selfplay.config.base import SelfPlaySettings
    from selfplay.config.options import Option


def check_applicable(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse settings among ``explicit``, the user's values by dotted name, that the game does not have.

    Also a policy with a memory in a solved game, and what a game in real time cannot do.
    """
    game = config.game.entry
    if game.real_time:
        _check_real_game(config, explicit)
        return
    check_settings(config.game.type, explicit, OPTIONS)
    if game.table is not None and config.net.remembers:
        raise ConfigError(
            f"--backbone {config.net.backbone}: --game-type {config.game.type} is judged exactly, state by state, "
            "which only a policy without memory can be (mlp)"
        )


def check_settings(game: str, explicit: Collection[str], options: Sequence[Option]) -> None:
    """Refuse settings, by dotted name, that the game does not have; names the games that have them."""
    for path in explicit:
        if not find_game(game).has(path):
            others = " or ".join(name for name in games_of("ppo") if find_game(name).has(path))
            raise ConfigError(
                f"{flag_of(options, path)} goes with --game-type {others}; --game-type {game} has no use for it"
            )


def _check_real_game(config: Config, explicit: Mapping[str, object]) -> None:
    kind, games = config.game.type, config.run.num_games
    if explicit.get("run.host") == "thread":
        raise ConfigError(f"--host thread: each game of --game-type {kind} is a process; leave --host out")
    if explicit.get("run.runners", 0) not in (0, games):
        raise ConfigError(
            f"--runners {config.run.runners}: each game of --game-type {kind} has a runner of its own, "
            f"{games} of them with --num-games {games}; leave --runners out"
        )
    if config.run.deterministic:
        raise ConfigError(f"--deterministic: a game in real time cannot be repeated (--game-type {kind})")
    _check_person(config)
    if config.emulator.outsider is not None:
        _check_outsider(config, explicit)


def _check_person(config: Config) -> None:
    emulator = config.emulator
    if emulator.human_port is None:
        return
    if emulator.cpu_level is not None:
        raise ConfigError("--cpu-level and --human-port both want the other seat; give one of them")
    if emulator.headless:
        raise ConfigError("--human-port needs a window to play in; leave --headless out")
    if config.run.num_games != 1:
        raise ConfigError(f"--human-port: a person plays one game at a time, not {config.run.num_games}: --num-games 1")


def _check_outsider(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse other opponents where a person or an emulator's own player has the other seat."""
    flag = "--cpu-level" if config.emulator.human_port is None else "--human-port"
    taken = f"{flag} has the other seat in every game"
    if "league.mode" in explicit and config.league.mode != LeagueConfig().mode:
        raise ConfigError(f"--mode {config.league.mode} chooses opponents, but {taken}")
    if config.league.opponents:
        raise ConfigError(f"--opponent names opponents, but {taken}")


def check_agreement(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse settings that have no effect beside others, or contradict each other."""
    league = config.league
    if config.net.is_own and (given := {"net.hidden", "net.activation", "net.window"} & explicit.keys()):
        flag = flag_of(OPTIONS, min(given))
        raise ConfigError(f"{flag} has no effect: --backbone {config.net.backbone} makes its own layers")
    if league.gate != "none" and not league.track_elo:
        raise ConfigError("--gate decides by rating games: add --track-elo")
    if config.run.keep_best and not league.track_elo:
        raise ConfigError("--set run.keep_best=true keeps the best by rating games: add --track-elo")
    if "league.opponent_share" in explicit and not league.opponents:
        raise ConfigError("--set league.opponent_share is the share of the policies of --opponent: name at least one")
    if "league.opponent_share" in explicit and league.mode == "opponents":
        raise ConfigError(
            "--set league.opponent_share has no effect with --mode opponents, which plays against nobody else"
        )
    check_host(config.run, explicit)
    check_plan(config.run.chaos, processes=config.run.host != "thread" or config.game.entry.real_time)
    if config.run.chaos is not None and config.run.deterministic:
        raise ConfigError("--chaos cannot be combined with --deterministic")


def check_host(run: SelfPlaySettings, explicit: Mapping[str, object]) -> None:
    """Refuse settings of Ray among ``explicit``, the user's values by dotted name, without ``--host ray``."""
    if run.host != "ray" and explicit.get("run.ray_address"):
        raise ConfigError("--ray-address is about actors of Ray: add --host ray")
