"""Games in real time, each in an emulator of its own: what their settings must be, and the deadlines that follow.

A training run has one emulator a runner; those of the rating games have the slots after them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from selfplay.config import LeagueConfig
from selfplay.errors import ConfigError
from selfplay.policy.memory import Ask, directly
from selfplay.runner.arena import Arena
from selfplay.runner.board import FIRST_TIMEOUT_S, LEAST_TIMEOUT_S, MEDIANS, Limits
from selfplay.runner.process_game import ProcessGame
from selfplay.supervision import ParkPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from selfplay.checkpoint import RunDir
    from selfplay.config import Config

FRAMES_A_SECOND: Final = 60
REPLAYS: Final = "replays"  # folder of a run's .slp files


def check_live(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse what games in real time cannot do.

    Args:
        config: of a run of such games.
        explicit: what the user gave, by dotted name.

    Raises:
        ConfigError: one line that names the flag.
    """
    kind, games = config.game.type, config.run.num_games
    if explicit.get("run.host") == "thread":
        raise ConfigError(f"--host thread: each game of --game-type {kind} is a process; leave --host out")
    if explicit.get("run.runners", 0) not in (0, games):
        raise ConfigError(
            f"--runners {config.run.runners}: each game of --game-type {kind} has a runner of its own, "
            f"{games} of them with --num-games {games}; leave --runners out"
        )
    if explicit.get("run.workers", 0) not in (0, games):
        raise ConfigError(f"--workers {config.run.workers}: an actor has one game of --game-type {kind}; leave it out")
    if config.run.deterministic:
        raise ConfigError(f"--deterministic: a game in real time cannot be repeated (--game-type {kind})")
    _check_person(config)
    if config.emulator.outsider is not None:
        _check_outsider(config, explicit)


def _check_person(config: Config) -> None:
    """What goes with a person at a controller."""
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
    """Where the other seat is taken nobody chooses who sits there."""
    flag = "--cpu-level" if config.emulator.human_port is None else "--human-port"
    taken = f"{flag} has the other seat in every game"
    if "league.mode" in explicit and config.league.mode != LeagueConfig().mode:
        raise ConfigError(f"--mode {config.league.mode} chooses opponents, but {taken}")
    if config.league.opponents:
        raise ConfigError(f"--opponent names opponents, but {taken}")


def emulator_options(config: Config, run: RunDir, slot: int) -> dict[str, object]:
    """What a game is told of its emulator, JSON-able; ``slot`` counts the emulators of a run."""
    emulator = config.emulator
    return {
        "dolphin": config.game.dolphin,
        "iso": config.game.iso,
        "slot": slot,
        "slots": rating_slots(config).stop,
        "slippi_port": emulator.slippi_port,
        "headless": emulator.headless,
        "fast_forward": emulator.fast_forward,
        "cpu_level": emulator.cpu_level,
        "human_port": emulator.human_port,
        "replay_dir": str(run.path.absolute() / REPLAYS) if emulator.save_replays else None,
        "start_timeout_s": emulator.start_timeout,
        "frame_timeout_s": emulator.frame_timeout,
        "recycle_frames": emulator.recycle_frames,
        "recycle_mb": emulator.recycle_mb,
    }


def rating_slots(config: Config) -> range:
    """Slots of the emulators that rating games may run in at once: as many as training has."""
    return range(config.run.num_games, 2 * config.run.num_games)


def arena(config: Config, run: RunDir, tell: Callable[[str], object], ask: Ask = directly) -> Arena:
    """Where rating games of a run are played; ``tell`` is told what goes wrong there."""

    def open_game(slot: int, options: dict[str, object]) -> ProcessGame:
        # Who plays follows from the pairing, and so does when: one that began by itself would be quit again.
        alone = {"cpu_level": None, "human_port": None, "restarts": False}
        emulator = emulator_options(config, run, slot) | alone
        return ProcessGame(config.game.type, options | emulator, config.emulator.start_timeout)

    limit = _two_starts_s(config) + MEDIANS * config.game.max_episode_frames / FRAMES_A_SECOND
    return Arena(open_game, rating_slots(config), limit, ask, tell)


def rating_cost_s(config: Config) -> float:
    """Seconds that a rating game takes before any has told: its cap, in as many emulators as there are."""
    return config.game.max_episode_frames / FRAMES_A_SECOND / len(rating_slots(config))


def opens_within_s(config: Config) -> float:
    """Seconds after which an emulator that is not in its first game counts as hung; its own deadlines come first.

    It has its time-out twice, to start and to get through the menus, where a person may take all the time there is.
    """
    return math.inf if config.emulator.human_port else _two_starts_s(config)


def _two_starts_s(config: Config) -> float:
    return 2 * config.emulator.start_timeout + LEAST_TIMEOUT_S


def limits(config: Config) -> Limits:
    """When a segment counts as hung. An emulator may be replaced in the middle of one, and may play in real time."""
    least = opens_within_s(config) + config.emulator.frame_timeout
    real_time = config.ppo.rollout_length * config.game.frame_skip / FRAMES_A_SECOND
    return Limits(first_s=max(FIRST_TIMEOUT_S, least + MEDIANS * real_time), least_s=least)


def park_policy(config: Config) -> ParkPolicy:
    """When a runner is parked: after four failures without a segment, even where each is an emulator that hangs."""
    return ParkPolicy(max_restarts=3, period_s=60.0 + 4 * _two_starts_s(config))
