"""Options and deadlines of real-time games, each of which runs in its own emulator.

A training run has one emulator per runner. Emulators of rating games use the slots after those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner.arena import Arena
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.work_queue import FIRST_TIMEOUT_S, LEAST_TIMEOUT_S, MEDIANS, Limits
from selfplay.supervision import ParkPolicy

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.ppo import Config, EmulatorConfig

FRAMES_A_SECOND: Final = 60
REPLAYS: Final = "replays"  # folder of a run's .slp files
SAME: Final = (
    "slippi_port", "headless", "fast_forward", "play_on", "cpu_level", "human_port", "recycle_frames", "recycle_mb",
)  # fmt: skip
"""Settings that are options of the same name."""


def emulator_options(config: Config, run: RunDir, slot: int) -> dict[str, object]:
    """Options of a game's emulator, JSON-able; ``slot`` numbers the emulators of a run."""
    emulator = config.emulator
    return {
        "dolphin": config.game.dolphin,
        "iso": config.game.iso,
        "slot": slot,
        "slots": rating_slots(config.run.num_games).stop,
        "replay_dir": str(run.path.absolute() / REPLAYS) if emulator.save_replays else None,
        "start_timeout_s": emulator.start_timeout,
        "frame_timeout_s": emulator.frame_timeout,
        **{name: getattr(emulator, name) for name in SAME},
    }


def rating_slots(num_games: int) -> range:
    """Slots of the emulators for rating games; as many as training has."""
    return range(num_games, 2 * num_games)


def arena(config: Config, run: RunDir, notice: Callable[[str], object], infer: Infer = infer_directly) -> Arena:
    """The arena of a run's rating games; ``notice`` receives its errors and notes."""

    def open_game(slot: int, options: dict[str, object]) -> ProcessGame:
        # The matchup decides who plays and when: a game that started by itself would have to be quit.
        alone = {"cpu_level": None, "human_port": None, "restarts": False, "play_on": False}
        emulator = emulator_options(config, run, slot) | alone
        return ProcessGame(config.game.type, options | emulator, config.emulator.start_timeout, config.run.process_mb)

    limit = _two_starts_s(config.emulator) + MEDIANS * config.game.max_episode_frames / FRAMES_A_SECOND
    return Arena(open_game, rating_slots(config.run.num_games), limit, infer, notice)


def rating_cost_s(max_episode_frames: int, num_games: int) -> float:
    """Estimated seconds per rating game before any was played: its cap, divided by the number of emulators."""
    return max_episode_frames / FRAMES_A_SECOND / len(rating_slots(num_games))


def opens_within_s(emulator: EmulatorConfig) -> float:
    """Seconds after which an emulator that is not in its first game counts as hung.

    Twice its own time-out, for the start and the menus; infinite with a person at the controller.
    """
    return math.inf if emulator.human_port else _two_starts_s(emulator)


def _two_starts_s(emulator: EmulatorConfig) -> float:
    return 2 * emulator.start_timeout + LEAST_TIMEOUT_S


def limits(config: Config) -> Limits:
    """When a segment counts as hung. Includes time to replace an emulator and to play in real time."""
    least = opens_within_s(config.emulator) + config.emulator.frame_timeout
    real_time = config.ppo.rollout_length * config.game.frame_skip / FRAMES_A_SECOND
    return Limits(first_s=max(FIRST_TIMEOUT_S, least + MEDIANS * real_time), least_s=least)


def park_policy(emulator: EmulatorConfig) -> ParkPolicy:
    """When a runner is parked: after four failures without a segment, even if each is a hung emulator."""
    return ParkPolicy(max_restarts=3, period_s=60.0 + 4 * _two_starts_s(emulator))
