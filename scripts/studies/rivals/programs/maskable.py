"""MaskablePPO of Stable-Baselines3's contributions on PettingZoo's Connect Four; one policy plays both seats.

The variant ``DummyVecEnv`` is the documented way: an environment of Gymnasium, of which ``make_vec_env`` makes many.
Without a variant all games are one ``VecEnv`` written for this study, which does less in Python.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import sb3_contrib
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from scripts.studies.rivals.programs.boards import ACTIONS, OBSERVATIONS, SPENT, Boards, TimedGame, answer, timed
from scripts.studies.rivals.programs.job import Laps, asked
from scripts.studies.rivals.programs.sb3 import Environment, Timer, arguments, layers_of


class MaskedEnvironment(Environment):
    """All games as one vectorised environment with masks."""

    reset = timed("block", Environment.reset)
    step_wait = timed("block", Environment.step_wait)

    def __init__(self, boards: Any) -> None:  # noqa: ANN401
        super().__init__(boards)
        self._boards = boards

    def action_masks(self) -> list[Any]:
        """Legal columns of each game."""
        return list(self._boards.masks)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        """The masks; nothing else is supported."""
        if method_name != "action_masks":
            raise NotImplementedError
        return self.action_masks()


class OneGame(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One game, in which each step is the decision of the seat to move."""

    observation_space = OBSERVATIONS
    action_space = ACTIONS

    def __init__(self) -> None:
        self._game = TimedGame()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:  # noqa: ANN401
        """Start the game."""
        super().reset(seed=seed)
        self._game.reset(seed, options)
        return self._see(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play a decision; its reward is that of the seat that has moved."""
        seat = self._game.agent_selection
        self._game.step(int(action))
        return self._see(), float(self._game.rewards[seat]), bool(self._game.terminations[seat]), False, {}

    def action_masks(self) -> Any:  # noqa: ANN401
        """Legal columns."""
        return self._mask

    def _see(self) -> NDArray[np.float32]:
        seen = self._game.observe(self._game.agent_selection)
        self._mask = seen["action_mask"].astype(np.bool_)
        obs: NDArray[np.float32] = seen["observation"].astype(np.float32).reshape(-1)
        return obs


class TimedVecEnv(DummyVecEnv):
    """The documented vectorised environment, timed."""

    reset = timed("block", DummyVecEnv.reset)
    step_wait = timed("block", DummyVecEnv.step_wait)


class PartTimer(Timer):
    """Times the games, too."""

    def end(self) -> None:
        """End an iteration."""
        super().end()
        SPENT.lap()


def main() -> None:
    """Train and print the times."""
    job = asked()
    torch.set_num_threads(job.threads)
    games: VecEnv = MaskedEnvironment(Boards(job.games))
    if job.variant:
        games = make_vec_env(OneGame, job.games, vec_env_cls=TimedVecEnv)
    given = arguments(job, torch.nn.ReLU) | {"gamma": -job.gamma}  # see ``Boards``
    model = MaskablePPO("MlpPolicy", games, **given)
    laps = Laps()
    timer = PartTimer(laps, layers_of(model.policy), None)
    model.learn(job.steps, callback=timer)
    timer.end()
    answer(sb3_contrib.__version__, [job.rows] * job.iterations, laps)


if __name__ == "__main__":
    main()
