"""Stand-ins that several test folders share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from selfplay.games.api import ActionSpec, StepBatch
from tests.support.fake_clock import FakeClock, FakeTimer

__all__ = ["CountingGame", "FakeClock", "FakeTimer"]


class CountingGame:
    """A game (``ScriptedGame``) that does nothing but count, so that every number can be predicted.

    An observation is (game, seat, episode, step). Episode e of game b is entry (b + e) of ``episodes``, taken in turn:
    its length in steps, and whether the game itself ends it. The reward is zero-sum and follows from both actions; a
    scripted player's action is all ones. All arrays are used again at the next step, as the contract allows.
    """

    num_seats = 2
    obs_width = 4
    legal = None
    outsider = None
    actions = ActionSpec(binary=2, sizes=(3, 3, 2), rest=(-1, -1, -1))
    bot_names = ("idle", "random", "rusher")

    def __init__(self, num_games: int = 1, episodes: tuple[tuple[int, bool], ...] = ((3, True), (2, False))) -> None:
        self.num_games = num_games
        self.notes: list[str] = []
        self.episodes = episodes
        self.bots = np.full((num_games, self.num_seats), -1, np.int8)
        self.seated: list[np.ndarray] = []  # bots, at every step
        self.on_step: Callable[[StepBatch], None] = lambda batch: None
        self.killed = self.closed = False
        self._seeds = np.zeros(num_games, np.uint64)
        self._episode = np.zeros(num_games, np.int64)
        self._step = np.zeros(num_games, np.int64)
        pair = (num_games, self.num_seats)
        self._batch = StepBatch(
            np.zeros((*pair, 4), np.float32),
            np.zeros(pair, np.float32),
            np.zeros(num_games, bool),
            np.zeros(num_games, bool),
            np.zeros((*pair, 4), np.float32),
            np.zeros(pair, np.float32),
            np.zeros(pair, [("frames", "i4"), ("seat", "i4")]),
        )

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        self._seeds[:] = seeds
        self._episode[:] = self._step[:] = 0
        return self._observe(self._batch.obs)

    def step(self, actions: np.ndarray, acts: np.ndarray | None = None) -> StepBatch:
        assert acts is None
        batch = self._batch
        self.seated.append(self.bots.copy())
        self._step += 1
        pressed = np.where(self.bots[..., None] >= 0, 1, actions).sum(-1)
        batch.reward[:, 0] = (pressed[:, 0] - pressed[:, 1]) / 10
        batch.reward[:, 1] = -batch.reward[:, 0]
        length, terminates = np.array([self.episodes[i] for i in self._entry()]).T
        over = self._step == length
        batch.terminated[:] = over & (terminates == 1)
        batch.truncated[:] = over & (terminates == 0)
        batch.score[:, 0] = self._episode % 3 / 2
        batch.score[:, 1] = 1 - batch.score[:, 0]
        batch.stats["frames"] = self._step[:, None]
        batch.stats["seat"] = range(self.num_seats)
        self._observe(batch.final_obs)
        self._episode[over] += 1
        self._step[over] = 0
        self._observe(batch.obs)
        self.on_step(batch)
        return batch

    def snapshot(self) -> dict[str, np.ndarray]:
        arrays = {"seeds": self._seeds, "episode": self._episode, "step": self._step, "bots": self.bots}
        return {name: array.copy() for name, array in arrays.items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        self._seeds[:], self._episode[:] = arrays["seeds"], arrays["episode"]
        self._step[:], self.bots[:] = arrays["step"], arrays["bots"]
        return self._observe(self._batch.obs)

    def kill(self) -> bool:
        self.killed = True
        return True

    def close(self) -> None:
        self.closed = True

    def _entry(self) -> np.ndarray:
        return (np.arange(self.num_games) + self._episode) % len(self.episodes)

    def _observe(self, obs: np.ndarray) -> np.ndarray:
        obs[..., 0], obs[..., 1] = np.arange(self.num_games)[:, None], range(self.num_seats)
        obs[..., 2], obs[..., 3] = self._episode[:, None], self._step[:, None]
        return obs


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
"""What Git checks out in place of a large file where Git LFS is not installed."""
