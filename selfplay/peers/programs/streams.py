"""Games of the mock as rows of one vectorised environment, as trainers of others take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from envs.gym import action_space, observation_space
from envs.melee.mock import MockMelee

if TYPE_CHECKING:
    from gymnasium import spaces

    from envs.api import F32, Bool

OPPONENT = "random"
"""Who has seat 1 where one seat learns: a scripted player, which costs the trainer nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step gave to each of N streams; the arrays are the caller's.

    ``obs`` is the first observation of the next episode where one ended; ``final_obs`` is then the last one of the
    episode that ended, and without meaning elsewhere.
    """

    obs: F32  # [N, D]
    reward: F32  # [N]
    terminated: Bool  # [N]
    truncated: Bool  # [N]
    final_obs: F32  # [N, D]


class Streams:
    """B games as N streams of decisions: row ``seats * game + seat``.

    Args:
        games: B.
        seats: That learn: 2, or 1 against a scripted player.
        seed: Of all games; each has a series of its own.
        options: Of ``MockMelee``.
    """

    def __init__(self, games: int, seats: int, seed: int, **options: Any) -> None:  # noqa: ANN401
        self._game = MockMelee(games, **options)
        self._seats = seats
        self._seeds = np.random.default_rng(seed).integers(2**62, size=games).astype(np.uint64)
        if seats == 1:
            self._game.bots[:, 1] = self._game.bot_names.index(OPPONENT)
        self._actions = np.zeros((games, 2, MockMelee.actions.width), np.int8)
        self.num_streams = games * seats
        self.observation_space: spaces.Box[Any] = observation_space(MockMelee.obs_width)
        self.action_space = action_space(MockMelee.actions)

    def reset(self) -> F32:
        """Start all games; first observations [N, D]."""
        return self._rows(self._game.reset(self._seeds))

    def step(self, actions: NDArray[Any]) -> Step:
        """One decision of every stream, whole numbers [N, A]. Games that end begin anew in the same step."""
        self._actions[:, : self._seats] = actions.reshape(-1, self._seats, self._actions.shape[2])
        batch = self._game.step(self._actions)
        return Step(
            self._rows(batch.obs),
            self._rows(batch.reward),
            np.repeat(batch.terminated, self._seats),
            np.repeat(batch.truncated, self._seats),
            self._rows(batch.final_obs) if batch.ended.any() else batch.final_obs[:0, 0],
        )

    def _rows(self, seats: F32) -> F32:
        """A copy [N, ...] of what there is of each seat, [B, 2, ...]."""
        learning = seats[:, : self._seats]
        return learning.reshape(self.num_streams, *seats.shape[2:]).copy()
