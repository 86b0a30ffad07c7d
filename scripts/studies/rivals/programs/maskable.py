"""sb3-contrib's MaskablePPO on PettingZoo's Connect Four.

A step is the decision of the seat to move, as in our trainings. Three ways to play 256 games: ``make_vec_env``, one
environment written for this (``loop``), and processes (``make_vec_env`` with ``SubprocVecEnv``, fewer games).
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import gymnasium
import numpy as np
import sb3_contrib
import torch
from numpy.typing import NDArray
from pettingzoo.classic.connect_four_v3 import raw_env
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from scripts.studies.rivals.programs.job import Laps
from scripts.studies.rivals.programs.sb3 import Environment, Timer, Trunk
from scripts.studies.rivals.programs.streams import Step

CELLS: Final = 84
SPACES: Final = gymnasium.spaces.Box(0.0, 1.0, (CELLS,), np.float32), gymnasium.spaces.Discrete(7)
GAMES: Final = {"make_vec_env": 256, "loop": 256, "processes": 8}


class Board(gymnasium.Env[Any, Any]):
    """One game; the seat to move decides and is rewarded."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = SPACES
        self._game = raw_env()
        self._masks: NDArray[np.bool_] = np.ones(7, bool)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:  # noqa: ANN401
        self._game.reset(seed=seed)
        return self._see(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        seat = self._game.agent_selection
        self._game.step(int(action))
        over = self._game.terminations[seat]
        return self._see(), float(self._game.rewards[seat]), over, False, {}

    def action_masks(self) -> NDArray[np.bool_]:
        return self._masks

    def _see(self) -> NDArray[np.float32]:
        seen = self._game.observe(self._game.agent_selection)
        self._masks = seen["action_mask"].astype(bool)
        obs: NDArray[np.float32] = seen["observation"].astype(np.float32).reshape(-1)
        return obs


class Boards:
    """Many games in one loop, without what ``DummyVecEnv`` and its monitors add."""

    def __init__(self, number: int) -> None:
        self.boards = [Board() for _ in range(number)]
        self.num_streams = number
        self.observation_space, self.action_space = SPACES

    def reset(self) -> NDArray[np.float32]:
        return np.stack([board.reset()[0] for board in self.boards])

    def step(self, actions: NDArray[Any]) -> Step:
        obs, final = np.empty((2, self.num_streams, CELLS), np.float32)
        reward, over = np.zeros(self.num_streams, np.float32), np.zeros(self.num_streams, bool)
        for i, board in enumerate(self.boards):
            obs[i], reward[i], over[i], _, _ = board.step(actions[i])
            if over[i]:
                final[i] = obs[i]
                obs[i] = board.reset()[0]
        return Step(obs, reward, over, np.zeros_like(over), final)


class Masked(Environment):
    """The games of a loop, which say what is legal."""

    def __init__(self, boards: Boards) -> None:
        super().__init__(boards)
        self._boards = boards.boards

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self._boards[0], attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        return [getattr(board, method_name)(*args, **kwargs) for board in self._boards]


def environment(way: str) -> VecEnv:
    number = GAMES[way]
    if way == "loop":
        return Masked(Boards(number))
    return make_vec_env(Board, number, vec_env_cls=DummyVecEnv if way == "make_vec_env" else SubprocVecEnv)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    games = environment(job["way"])
    model = MaskablePPO(
        "MlpPolicy", games, n_steps=job["steps"] // games.num_envs, batch_size=job["batch_size"],
        n_epochs=job["epochs"], learning_rate=job["learning_rate"], gamma=1.0, ent_coef=job["entropy_coefficient"],
        seed=0, device="cpu",
        policy_kwargs={
            "features_extractor_class": Trunk, "net_arch": [],
            "features_extractor_kwargs": {"hidden": job["hidden"], "activation": torch.nn.ReLU},
        },
    )  # fmt: skip
    laps = Laps()
    model.learn(job["steps"] * (1 + job["iterations"]), callback=Timer(laps))
    laps.end()
    laps.answer(sb3_contrib.__version__)


if __name__ == "__main__":
    main()
