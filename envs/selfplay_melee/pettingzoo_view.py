"""Games as PettingZoo environments; the one module that needs PettingZoo.

``parallel_env`` and ``env`` make the mock fighter, ``ParallelView`` any game of two or more seats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec, wrappers

from selfplay.games.api import F32, VectorGame
from selfplay.games.errors import ActionError, GameError
from selfplay_melee.duel import FRAME_SKIP, seat_actions, seat_result
from selfplay_melee.gym import RENDER_MODES, action_space, draw_seed, observation_space, view_of
from selfplay_melee.mock import MockMelee
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from gymnasium import spaces

    from selfplay_melee.rendering import View

ByAgent = dict[str, Any]


class ParallelView(ParallelEnv[str, F32, NDArray[np.int64]]):
    """One game; every seat is an agent, ``seat_0``, ``seat_1``, and all act in every step.

    Agents see and act as the seats of the game do: each in a view of its own, mirrored where that puts its opponent
    on the right. All are done together; ``infos`` then has each one's ``score`` and ``stats``.

    Args:
        game: A block of one game, the view's own from here on.
        name: Of the environment, for PettingZoo.
        render_mode: One of ``RENDER_MODES``, which only the mock fighter has; see ``MockMeleeEnv``.

    Raises:
        GameError: a block of several games, no such mode, or no library for a window.
    """

    metadata: dict[str, Any]

    def __init__(self, game: VectorGame, name: str = "vector_game_v0", render_mode: str | None = None) -> None:
        if game.num_games != 1:
            raise GameError(f"the view shows one game, got a block of {game.num_games}")
        self._game = game
        self.render_mode = render_mode
        self.metadata = {"name": name, "render_modes": []}
        self._view: View | None = None
        if isinstance(game, MockMelee):
            fps = FPS / game.frame_skip
            self.metadata |= {"render_modes": [*RENDER_MODES], "render_fps": fps}
            self._view = view_of(game, render_mode, ("seat_0", "seat_1"), fps)
        elif render_mode is not None:
            raise GameError(f"render_mode {render_mode!r}: only fights can be rendered")
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
        if self._view is not None:
            self._view.take()
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
        elif self._view is not None:
            self._view.take()
        return obs, rewards, terminations, truncations, infos

    def render(self) -> Any:  # noqa: ANN401 PettingZoo's type has fewer modes
        """See ``MockMeleeEnv``; None without a ``render_mode``.

        Raises:
            GameError: no episode has begun.
        """
        return None if self._view is None else self._view.show()

    def close(self) -> None:
        """Close the window."""
        if self._view is not None:
            self._view.close()

    def _by_agent(self, values: Any) -> ByAgent:  # noqa: ANN401
        return dict(zip(self.possible_agents, values, strict=True))


def parallel_env(
    *,
    frame_skip: int = FRAME_SKIP,
    render_mode: str | None = None,
    **options: Any,  # noqa: ANN401
) -> ParallelView:
    """The mock fighter, both seats acting at once; ``options`` are those of ``MockMelee``."""
    return ParallelView(MockMelee(1, frame_skip=frame_skip, **options), "mock_melee_v1", render_mode)


def raw_env(**options: Any) -> AECEnv[str, F32, NDArray[np.int64]]:  # noqa: ANN401
    """``parallel_env`` with one seat acting after the other; the game goes on when both have."""
    return parallel_to_aec(parallel_env(**options))


def env(**options: Any) -> AECEnv[str, F32, NDArray[np.int64]]:  # noqa: ANN401
    """``raw_env``, which refuses calls in a wrong order with a message."""
    return wrappers.OrderEnforcingWrapper(raw_env(**options))
