"""A game whose frames an external program plays: its inputs, rewards and results.

Everything else is as in the mock, by the same compiled functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import is_compiled
from selfplay_melee import bots
from selfplay_melee.base import MeleeGame
from selfplay_melee.controller import NEUTRAL
from selfplay_melee.episodes import begin_step, count_frame, next_inputs, reset_episode, settle_step
from selfplay_melee.observation import encode_games
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.state import CONTROLLER, NUM_SEATS, PLAYER, records

if TYPE_CHECKING:
    from selfplay.games.api import F32, Actions, Bool, Seeds, StepBatch


class ExternalFramesGame(MeleeGame):
    """One game (``VectorGame``). Subclasses play the frames in ``_begin``, ``_frame`` and ``_is_decided``.

    ``bots`` may hold numbers beyond those of our scripted players, for seats that the external program plays.

    Args:
        restarts: Whether the next episode begins when one ends. If not, observations stay until ``reset``.
        **options: See ``MeleeGame``.
    """

    def __init__(self, *, restarts: bool = True, **options: Any) -> None:  # noqa: ANN401
        super().__init__(1, **options)
        self._restarts = restarts
        self._before_step = np.zeros(6)  # see ``begin_step``
        self._inputs = records(CONTROLLER, 1, NUM_SEATS)  # of the next frame
        self._previous = records(PLAYER, 1, NUM_SEATS)  # the players of the frame before

    def _begin(self) -> None:
        """Begin a game: afterwards ``state`` is that of frame 0, in the same arrays until the next game begins."""

    def _frame(self, inputs: NDArray[np.void]) -> bool:
        """Play a frame with the CONTROLLER records of both seats [P] into ``state``; False if the game is over instead.

        The default changes nothing.
        """
        return True

    def _is_decided(self) -> bool:
        """Whether a game that ended before a last stock was lost has a result, or was cut short."""
        return True

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``. Seeds only set the length of a staggered first episode."""
        self._start_all(seeds)
        return self._observe()

    def _start(self, b: int) -> None:
        self._begin()
        state = self.state
        self._games = self._games._replace(game=state.game, players=state.players, controllers=state.controllers)
        reset_episode(self._games, self.max_episode_frames)
        self._games.memory[...] = self._tables.blank

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``, and ``MeleeGame`` for ``acts``.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        self._choose(actions, acts)
        ours = np.where(self.bots < len(bots.NAMES), self.bots, np.int8(-1))
        options, batch = self._options(), self._batch
        begin_step(options, self._games._replace(bots=ours), self._tables, self._before_step)
        over = self._play_frames()
        settle_step(over, self._before_step, options, self._games, self._tables, self._out)
        if self._restarts and (batch.terminated[0] or batch.truncated[0]):
            self._start(0)
            self._observe()
        return batch

    def _play_frames(self) -> int:
        """Play the frames of a step; 1 if the game has ended."""
        games = self._games
        for _ in range(self.frame_skip):
            next_inputs(games, self._inputs)
            self._previous[...] = games.players
            if not self._frame(self._inputs[0]):
                if not self._is_decided():
                    games.episode["cap"] = games.episode["frames"]
                    return 0
                return 1
            if count_frame(games, self._previous) or games.game["frame"][0] >= TIMER:
                return 1
            if games.episode["frames"][0] >= games.episode["cap"][0]:
                break
        return 0


def rules_are_compiled() -> bool:
    """Whether a first step starts at once, or compiles the rules first."""
    return all(is_compiled(function) for function in (begin_step, settle_step, encode_games))


def compile_rules() -> None:
    """Compile or load the functions of such a game, once before many processes start at the same time."""
    game = ExternalFramesGame()
    game.state.players["stocks"] = 1
    game.reset(np.zeros(1, np.uint64))
    game.bots[0, 1] = 0
    game.step(np.broadcast_to(NEUTRAL, (1, NUM_SEATS, len(NEUTRAL))))
