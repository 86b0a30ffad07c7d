"""Options and deadlines of real games, each of which runs in its own emulator.

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
    from selfplay_melee.settings import EmulatorConfig, RealRun

FRAMES_A_SECOND: Final = 60
REPLAYS: Final = "replays"  # folder of a run's .slp files
SAME: Final = (
    "slippi_port", "headless", "fast_forward", "play_on", "cpu_level", "human_port", "recycle_frames", "recycle_mb",
)  # fmt: skip
"""Settings that are options of the same name."""


class DolphinHost:
    """Plays real games, see ``selfplay.ppo.host.RealTimeHost``."""

    def options(self, config: RealRun, run: RunDir, slot: int) -> dict[str, object]:
        emulator = config.emulator
        return {
            "dolphin": config.game.dolphin,
            "iso": config.game.iso,
            "slot": slot,
            "slots": _rating_slots(config).stop,
            "replay_dir": str(run.path.absolute() / REPLAYS) if emulator.save_replays else None,
            "start_timeout_s": emulator.start_timeout,
            "frame_timeout_s": emulator.frame_timeout,
            **{name: getattr(emulator, name) for name in SAME},
        }

    def arena(
        self, config: RealRun, run: RunDir, notice: Callable[[str], object], infer: Infer = infer_directly
    ) -> Arena:
        def open_game(slot: int, options: dict[str, object]) -> ProcessGame:
            # The matchup decides who plays and when: a game that started by itself would have to be quit.
            alone = {"cpu_level": None, "human_port": None, "restarts": False, "play_on": False}
            emulator = self.options(config, run, slot) | alone
            start = config.emulator.start_timeout
            return ProcessGame(config.game.type, options | emulator, start, config.run.process_mb)

        limit = _two_starts_s(config.emulator) + MEDIANS * config.game.max_episode_frames / FRAMES_A_SECOND
        return Arena(open_game, _rating_slots(config), limit, infer, notice)

    def rating_games(self, config: RealRun) -> int:
        return len(_rating_slots(config))

    def rating_cost_s(self, config: RealRun) -> float:
        """The cap of a game, divided by the number of emulators."""
        return config.game.max_episode_frames / FRAMES_A_SECOND / len(_rating_slots(config))

    def start_timeout_s(self, config: RealRun) -> float:
        return config.emulator.start_timeout

    def opens_within_s(self, config: RealRun) -> float:
        """Twice the emulator's own time-out, for the start and the menus; infinite with a person at the controller."""
        return math.inf if config.emulator.human_port else _two_starts_s(config.emulator)

    def limits(self, config: RealRun) -> Limits:
        """Includes time to replace an emulator and to play in real time."""
        least = self.opens_within_s(config) + config.emulator.frame_timeout
        real_time = config.ppo.rollout_length * config.game.frame_skip / FRAMES_A_SECOND
        return Limits(first_s=max(FIRST_TIMEOUT_S, least + MEDIANS * real_time), least_s=least)

    def park_policy(self, config: RealRun) -> ParkPolicy:
        """After four failures without a segment, even if each is a hung emulator."""
        return ParkPolicy(max_restarts=3, period_s=60.0 + 4 * _two_starts_s(config.emulator))


def _rating_slots(config: RealRun) -> range:
    """Slots of the emulators for rating games; as many as training has."""
    return range(config.run.num_games, 2 * config.run.num_games)


def _two_starts_s(emulator: EmulatorConfig) -> float:
    return 2 * emulator.start_timeout + LEAST_TIMEOUT_S
