"""Any two-or-more-seat game as a PettingZoo parallel environment; the one module that needs PettingZoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from envs.api import F32, VectorGame
from envs.duel import seat_actions, seat_result
from envs.errors import ActionError, GameError
from envs.gym import action_space, draw_seed, observation_space

if TYPE_CHECKING:
    from gymnasium import spaces

ByAgent = dict[str, Any]


class ParallelView(ParallelEnv[str, F32, NDArray[np.int64]]):
    """One game; every seat is an agent, ``seat_0``, ``seat_1``, and all act in every step.

    Agents see and act as the seats of the game do: each in a view of its own, mirrored where that puts its opponent
    on the right. All are done together; ``infos`` then has each one's ``score`` and ``stats``.

    Args:
        game: A block of one game, the view's own from here on.
        name: Of the environment, for PettingZoo.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "vector_game_v0", "render_modes": []}
    render_mode: None = None

    def __init__(self, game: VectorGame) -> None:
        if game.num_games != 1:
            raise GameError(f"the view shows one game, got a block of {game.num_games}")
        self._game = game
        self._observation_space = observation_space(game.obs_width)
        self._action_spaces = [action_space(game.actions) for _ in range(game.num_seats)]
        self._generator = np_random()[0]
        self.possible_agents = [f"seat_{seat}" for seat in range(game.num_seats)]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same for every seat."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Equal for every seat, each with a generator of its own."""
        return self._action_spaces[self.possible_agents.index(agent)]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, F32], ByAgent]:
        """Start a new game; the seed fixes this one and those after it. There are no options."""
        if seed is not None:
            self._generator = np_random(seed)[0]
        self.agents = list(self.possible_agents)
        obs = self._game.reset(np.array([draw_seed(self._generator)], np.uint64))
        return self._by_agent(obs[0].copy()), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, NDArray[np.int64]]) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Every agent acts once: observations, rewards, terminations, truncations and infos by agent.

        Raises:
            ActionError: an agent without an action, or an action that no controller can express.
            GameError: the game is over.
        """
        if not self.agents:
            raise GameError("no episode is in progress: call reset() first")
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise ActionError(f"no action for {', '.join(missing)}")
        width = self._game.actions.width
        rows = [seat_actions([actions[agent]], seat, 1, width) for seat, agent in enumerate(self.agents)]
        batch = self._game.step(np.stack(rows, axis=1))
        ended = bool(batch.ended[0])
        obs = self._by_agent((batch.final_obs if ended else batch.obs)[0].copy())
        rewards = self._by_agent(batch.reward[0].tolist())
        terminations = dict.fromkeys(self.agents, bool(batch.terminated[0]))
        truncations = dict.fromkeys(self.agents, bool(batch.truncated[0]))
        infos = {agent: seat_result(batch, 0, seat) if ended else {} for seat, agent in enumerate(self.agents)}
        if ended:
            self.agents = []
        return obs, rewards, terminations, truncations, infos

    def _by_agent(self, values: Any) -> ByAgent:  # noqa: ANN401
        return dict(zip(self.possible_agents, values, strict=True))
