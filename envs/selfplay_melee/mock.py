"""The mock: many games of Melee-like rules, stepped as one block of arrays by compiled code.

One step: every seat's action becomes its controller (held for ``frame_skip`` frames, arriving ``delay`` frames
late), the frames are played, rewards and observations are written, finished games restart.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import is_compiled
from selfplay.games.snapshots import copied, put_back
from selfplay_melee.arrays import STATS
from selfplay_melee.base import MeleeGame
from selfplay_melee.controller import NEUTRAL
from selfplay_melee.episodes import play_games, start_episode, step_games
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.observation import encode_games
from selfplay_melee.state import NUM_SEATS

if TYPE_CHECKING:
    from selfplay.games.api import F32, Actions, Bool, Seeds, StepBatch

__all__ = ["ENDED_BY", "STATS", "MockMelee", "compile_rules", "neutral_actions", "rules_are_compiled"]


class MockMelee(MeleeGame):
    """B games (``VectorGame``); see ``MeleeGame`` for the arguments."""

    def reset(self, seeds: Seeds) -> F32:
        self._start_all(seeds)
        return self._observe()

    def _start(self, b: int) -> None:
        start_episode(b, self._games, self._tables, self.max_episode_frames)

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``, and ``MeleeGame`` for ``acts``.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        self._choose(actions, acts)
        step_games(self._options(), self._games, self._tables, self._out, True)
        return self._batch

    def play(self, controllers: NDArray[np.void]) -> None:
        """Play raw CONTROLLER frames [T, B, P], resets included, with no delay, reward or observation."""
        play_games(controllers, self._games, self._tables, self.max_episode_frames)
        self._observe()

    @property
    def memory_bytes(self) -> int:
        batch = self._batch
        kept = (*self._parts().values(), batch.obs, batch.final_obs, batch.reward, batch.stats)
        return sum(array.nbytes for array in kept)

    def close(self) -> None:
        """Nothing to do."""

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return copied(self._parts())

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``.

        Raises:
            GameError: not a snapshot of such a block.
        """
        put_back(self._parts(), arrays)
        return self._observe()

    def _parts(self) -> dict[str, NDArray[Any]]:
        parts = self._games._asdict()
        del parts["mirrored"]  # follows from the state
        return {f"{name}-{_layout(array.dtype)}": _as_bytes(array) for name, array in parts.items()}


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array, the bytes of an element along a last axis."""
    raw: NDArray[np.uint8] = array.view(np.ndarray).view(np.dtype((np.void, array.itemsize))).view(np.uint8)
    return raw.reshape(*array.shape, array.itemsize)


def _layout(dtype: np.dtype[Any]) -> str:
    """Checksum of a type, so that a snapshot of another layout is refused."""
    return f"{zlib.crc32(str(dtype).encode()):08x}"


def rules_are_compiled() -> bool:
    """Whether a first step starts at once, or compiles for a minute or more."""
    return all(is_compiled(function) for function in (start_episode, step_games, encode_games))


def compile_rules() -> None:
    """Compile or load everything that a game uses."""
    game = MockMelee(num_games=1)
    game.reset(np.zeros(1, np.uint64))
    game.step(neutral_actions(1))


def neutral_actions(num_games: int) -> Actions:
    """Neutral controllers: int8 [B, P, 14]."""
    return np.broadcast_to(NEUTRAL, (num_games, NUM_SEATS, len(NEUTRAL))).copy()
