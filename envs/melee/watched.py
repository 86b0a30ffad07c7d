"""A game whose frames somebody else plays: the inputs that it gets, and what its frames are worth.

Everything else is as in the mock, by the same compiled rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.melee import bots
from envs.melee.controller import NEUTRAL
from envs.melee.episodes import begin_step, choose_inputs, count_frame, forget_episodes, next_inputs, settle_step
from envs.melee.fight import Fight
from envs.melee.physics.compile import is_compiled, plain
from envs.melee.physics.death import TIMER
from envs.melee.state import CONTROLLER, NUM_SEATS, PLAYER, records

if TYPE_CHECKING:
    from envs.api import F32, Actions, Bool, Seeds, StepBatch

_Records = NDArray[np.void]


class _Arrays(NamedTuple):
    """Arrays of one game, see ``Fight``; and the inputs of the next frame, the players of the frame before."""

    episode: _Records
    game: _Records
    players: _Records
    controllers: _Records
    memory: _Records
    bot_memory: _Records
    chosen: _Records
    line: _Records
    inputs: _Records
    before: _Records
    stats: _Records


class WatchedGame(Fight):
    """One game (``VectorGame``); who plays its frames says how in ``_begin``, ``_frame`` and ``_is_decided``.

    ``bots`` may hold numbers beyond those of our scripted players: those that the other side plays itself.

    Args:
        restarts: Whether the next episode begins when one ends; else with ``reset``, and observations stay the last.
        **options: See ``Fight``.
    """

    def __init__(self, *, restarts: bool = True, **options: Any) -> None:  # noqa: ANN401
        super().__init__(1, **options)
        self._restarts = restarts
        self._before_step = np.zeros(4)  # stocks of both seats, damage dealt by both
        self._now = self._arrays()

    def _begin(self) -> None:
        """Begin a game: afterwards ``state`` is that of frame 0, in the same arrays until the next game begins."""

    def _frame(self, inputs: _Records) -> bool:
        """Play a frame with the CONTROLLER records of both seats [P] into ``state``; False: the game is over instead.

        One that nobody plays stands still.
        """
        return True

    def _is_decided(self) -> bool:
        """Whether a game that was over before a last stock was lost has a result: otherwise it was cut short."""
        return True

    def _arrays(self) -> _Arrays:
        """What compiled functions work on, as they take it fastest."""
        state = self.state
        return _Arrays(
            *map(
                plain,
                (
                    self._episode, state.game, state.players, state.controllers, self._memory, self._bot_memory,
                    self._chosen, self._line, records(CONTROLLER, 1, NUM_SEATS), records(PLAYER, 1, NUM_SEATS),
                    self._batch.stats.view(np.recarray),
                ),
            )
        )  # fmt: skip

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``; seeds decide nothing but the length of a first episode that is staggered."""
        self._start_all(seeds)
        return self._observe()

    def _start(self, b: int) -> None:
        self._begin()
        now = self._now = self._arrays()
        forget_episodes(
            now.episode, now.memory, now.controllers, now.chosen, now.line, now.bot_memory, self._sums,
            self.max_episode_frames,
        )  # fmt: skip

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``, and ``Fight`` for those who act.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        self._choose(actions, acts)
        now, batch = self._now, self._batch
        if self.bots.max() >= 0:
            ours = np.where(self.bots < len(bots.NAMES), self.bots, np.int8(-1))
            choose_inputs(
                self.bot_skip, now.episode, now.game, now.players, ours, now.bot_memory, now.chosen, self._tables
            )
        begin_step(
            self.frame_skip, self._delay, now.episode, now.players, now.memory, now.chosen, now.line, self._before_step
        )
        over = self._play_frames()
        settle_step(
            over, self._before_step, self._rewards, now.episode, now.game, now.players, now.controllers, now.memory,
            self._mirrored, self._sums, self._tables, batch.obs, batch.reward, batch.terminated, batch.truncated,
            batch.final_obs, batch.score, now.stats,
        )  # fmt: skip
        if self._restarts and (batch.terminated[0] or batch.truncated[0]):
            self._start(0)
            self._observe()
        return batch

    def _play_frames(self) -> int:
        """The frames of a step; 1 where the game has ended."""
        now = self._now
        for _ in range(self.frame_skip):
            next_inputs(now.episode, now.line, now.inputs)
            now.before[...] = now.players
            if not self._frame(now.inputs[0]):
                if not self._is_decided():
                    now.episode["cap"] = now.episode["frames"]
                    return 0
                return 1
            if count_frame(now.episode, now.before, now.players, now.memory) or now.game["frame"][0] >= TIMER:
                return 1
            if now.episode["frames"][0] >= now.episode["cap"][0]:
                break
        return 0


def rules_are_compiled() -> bool:
    """Whether a first step will start at once; otherwise it compiles for some seconds."""
    return is_compiled(settle_step)


def compile_rules() -> None:
    """Compile what such a game needs, or load it: done once before many processes would do it at the same time."""
    game = WatchedGame()
    game.state.players["stocks"] = 1
    game.reset(np.zeros(1, np.uint64))
    game.bots[0, 1] = 0
    game.step(np.broadcast_to(NEUTRAL, (1, NUM_SEATS, len(NEUTRAL))))
