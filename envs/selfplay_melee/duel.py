"""A block of mock games between one agent and one opponent, each at a frame skip and delay of its own.

Shared by the Gymnasium environments. Letters in shapes: B games, D observation features, A action heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfplay.games.errors import ActionError
from selfplay_melee import bots
from selfplay_melee.controller import ACTION_SPEC, NEUTRAL
from selfplay_melee.mock import ENDED_BY, MockMelee
from selfplay_melee.opponents import Opponent, Player, find_opponent

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool, StepBatch

AGENT, OTHER = 0, 1  # seats
FRAME_SKIP: Final = 4  # of an agent by default, as in training
WIDTH: Final = ACTION_SPEC.width


@dataclass(slots=True)
class Outcome:
    """Result of one step of the agent; the arrays are copies."""

    obs: F32  # [B, D] first observation of the new episode where one ended
    reward: NDArray[np.float64]  # [B]
    terminated: Bool  # [B]
    truncated: Bool  # [B]
    final_obs: F32  # [B, D] valid where the episode ended
    infos: dict[int, dict[str, Any]]  # of the games whose episode ended

    @property
    def ended(self) -> Bool:
        """[B] games whose episode ended in this step."""
        return self.terminated | self.truncated


class Duel:
    """B games; the agent has seat 0.

    The block is stepped in strides that fit both players' frame skips. A game that ends inside a step of the agent
    waits at the first frame of its next episode until that step is over.
    """

    def __init__(self, num_games: int, opponent: Opponent, frame_skip: int, delay: int, **options: Any) -> None:  # noqa: ANN401
        self._opponent = other = find_opponent(opponent, frame_skip, delay)
        skip, its_delay = (bots.FRAME_SKIP, 0) if isinstance(other, str) else (other.frame_skip, other.delay)
        self._stride = math.gcd(frame_skip, skip)
        self._strides = frame_skip // self._stride
        self.game = MockMelee(num_games, frame_skip=self._stride, delay=(delay, its_delay), **options)
        if isinstance(other, str):
            self.game.bots[:, OTHER] = self.game.bot_names.index(other)
            self.game.bot_skip = skip
        self._obs = np.zeros((num_games, 2, self.game.obs_width), np.float32)
        self._frame = np.zeros(num_games, np.int64)  # of the episode

    def reset(self, seeds: list[int]) -> F32:
        """Restart every game, one seed per game; first observations [B, D]."""
        if isinstance(self._opponent, Player):
            self._opponent.start(seeds[0])
            self._opponent.forget(np.arange(self.game.num_games))
        self._obs = self.game.reset(np.array(seeds, np.uint64))
        self._frame[:] = 0
        return self._obs[:, AGENT].copy()

    def step(self, actions: ArrayLike | list[ArrayLike]) -> Outcome:
        """Play one step of the agent.

        Args:
            actions: Of the agent, whole numbers [B, A].

        Raises:
            ActionError: an action of the agent, or of the opponent, that no controller can express.
        """
        num_games = self.game.num_games
        chosen = seat_actions(actions, AGENT, num_games, WIDTH)
        out = Outcome(
            np.empty((num_games, self.game.obs_width), np.float32),
            np.zeros(num_games),
            np.zeros(num_games, np.bool_),
            np.zeros(num_games, np.bool_),
            np.zeros((num_games, self.game.obs_width), np.float32),
            {},
        )
        waiting: list[tuple[NDArray[np.intp], dict[str, NDArray[Any]]]] = []
        for stride in range(self._strides):
            playing = ~out.ended
            acts = np.zeros((num_games, 2), np.bool_)
            acts[:, AGENT] = stride == 0
            batch = self.game.step(self._both(chosen, acts, playing), acts)
            self._obs = batch.obs
            self._frame += self._stride
            ended = np.flatnonzero(batch.ended & playing)
            out.reward[playing] += batch.reward[playing, AGENT]
            if len(ended):
                self._record(ended, batch, out)
                if isinstance(self._opponent, Player):
                    self._opponent.forget(ended)
                if stride + 1 < self._strides:
                    waiting.append((ended, self.game.snapshot()))
        self._return_to_start(waiting)
        self._frame[out.ended] = 0
        out.obs[:] = self._obs[:, AGENT]
        return out

    def _both(self, chosen: NDArray[Any], acts: Bool, playing: Bool) -> NDArray[Any]:
        """Actions of both seats [B, 2, A]; marks in ``acts`` where the opponent decides now."""
        others: NDArray[Any] = np.broadcast_to(NEUTRAL, (self.game.num_games, len(NEUTRAL)))
        if isinstance(self._opponent, Player):
            due = playing & (self._frame % self._opponent.frame_skip == 0)
            if due.any():
                chosen_now = self._opponent.act(self._obs[due, OTHER], np.flatnonzero(due))
                decided = seat_actions(chosen_now, OTHER, int(due.sum()), WIDTH)
                others = others.astype(np.promote_types(others.dtype, decided.dtype))
                others[due] = decided
                acts[:, OTHER] = due
        return np.stack([chosen, others], axis=1)

    def _record(self, ended: NDArray[np.intp], batch: StepBatch, out: Outcome) -> None:
        """Copy the results of episodes that have just ended."""
        out.terminated[ended] = batch.terminated[ended]
        out.truncated[ended] = batch.truncated[ended]
        out.final_obs[ended] = batch.final_obs[ended, AGENT]
        for b in ended.tolist():
            info = seat_result(batch, b, AGENT)
            out.infos[b] = info | {"ended_by": ENDED_BY[info["stats"].pop("ended")]}

    def _return_to_start(self, waiting: list[tuple[NDArray[np.intp], dict[str, NDArray[Any]]]]) -> None:
        """Reset games whose episode ended early to the first frame of the next one."""
        if not waiting:
            return
        now = self.game.snapshot()
        for rows, then in waiting:
            for name, array in now.items():
                array[rows] = then[name][rows]
        self._obs = self.game.restore(now)


def seat_result(batch: StepBatch, b: int, seat: int) -> dict[str, Any]:
    """Score and counts of the episode of game ``b`` that ended in this step, for one seat, as plain numbers."""
    row = batch.stats[b, seat]
    names = batch.stats.dtype.names or ()
    return {"score": float(batch.score[b, seat]), "stats": {name: row[name].item() for name in names}}


def seat_actions(actions: ArrayLike | list[ArrayLike], seat: int, num_games: int, width: int) -> NDArray[Any]:
    """One seat's actions as an array [B, A] of numbers; their values are checked where they are played.

    Raises:
        ActionError: not numbers, or of another shape; names the seat.
    """
    try:
        array = np.asarray(actions)
    except ValueError as error:
        raise ActionError(f"seat {seat}: actions are not an array: {actions!r}") from error
    if array.shape != (num_games, width) or array.dtype.kind not in "biuf":
        raise ActionError(
            f"seat {seat}: actions must be whole numbers of shape {(num_games, width)} (games, parts of an action), "
            f"got {array.dtype} of shape {array.shape}: {actions!r}"
        )
    return array
