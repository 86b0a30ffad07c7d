"""Mock games as rows of one vectorised environment, for other trainers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.gym import action_space, observation_space
from selfplay_melee.mock import MockMelee

if TYPE_CHECKING:
    from gymnasium import spaces

    from selfplay.games.api import F32, Bool

OPPONENT = "random"
"""The scripted player on seat 1 where one seat learns; it needs no inference."""


@dataclass(frozen=True, slots=True)
class Step:
    """Results of one step of N streams; the caller owns the arrays.

    Where an episode ended, ``obs`` is the first observation of the next one and ``final_obs`` the last of the episode
    that ended; elsewhere ``final_obs`` has no meaning.
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
        seats: Learning seats: 2, or 1 against a scripted player.
        seed: Of all games; the seed of each game is derived from it.
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
        """Play one decision of every stream, integers [N, A]. Games that end are reset in the same step."""
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
        """Copy the learning seats of an array [B, 2, ...] to [N, ...]."""
        learning = seats[:, : self._seats]
        return learning.reshape(self.num_streams, *seats.shape[2:]).copy()
