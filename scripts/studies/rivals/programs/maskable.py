"""sb3-contrib's MaskablePPO on PettingZoo's Connect Four: ``maskable.py JSON`` prints steps a second.

A step is the decision of the seat to move, as in our trainings. Three ways to play 256 games: ``make_vec_env``, one
environment written for this (``loop``), and processes (``make_vec_env`` with ``SubprocVecEnv``, fewer games).
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from statistics import median
from typing import Any, Final

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from pettingzoo.classic.connect_four_v3 import raw_env
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

CELLS: Final = 84
SPACES: Final = gymnasium.spaces.Box(0.0, 1.0, (CELLS,), np.float32), gymnasium.spaces.Discrete(7)
GAMES: Final = {"make_vec_env": 256, "loop": 256, "processes": 8}
STEPS: Final = 8192  # of an iteration


class Board(gymnasium.Env[Any, Any]):
    """One game, in which whoever is to move decides and is rewarded."""

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


class Boards(VecEnv):
    """Many games in one loop, without what ``DummyVecEnv`` and its monitors add."""

    def __init__(self, number: int) -> None:
        self._boards = [Board() for _ in range(number)]
        self._actions: Any = None
        self.render_mode = None
        super().__init__(number, *SPACES)

    def reset(self) -> NDArray[np.float32]:
        return np.stack([board.reset()[0] for board in self._boards])

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        obs, rewards = np.empty((self.num_envs, CELLS), np.float32), np.zeros(self.num_envs, np.float32)
        done = np.zeros(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i, board in enumerate(self._boards):
            obs[i], rewards[i], done[i], _, _ = board.step(self._actions[i])
            if done[i]:
                infos[i]["terminal_observation"] = obs[i].copy()
                obs[i] = board.reset()[0]
        return obs, rewards, done, infos

    def close(self) -> None:
        """Close nothing."""

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self._boards[0], attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ANN401
        return [getattr(board, attr_name) for board in self._boards]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ANN401
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        return [getattr(board, method_name)(*args, **kwargs) for board in self._boards]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ANN401
        return [False] * self.num_envs


class Trunk(BaseFeaturesExtractor):
    """Dense layers that actor and critic share, as in our network."""

    def __init__(self, observation_space: Any, hidden: list[int]) -> None:  # noqa: ANN401
        super().__init__(observation_space, hidden[-1])
        widths = [CELLS, *hidden]
        pairs = [(torch.nn.Linear(a, b), torch.nn.ReLU()) for a, b in pairwise(widths)]
        self.layers = torch.nn.Sequential(*(layer for pair in pairs for layer in pair))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.layers(observations)
        return features


class Timer(BaseCallback):
    """Seconds of iterations, from the beginning of one rollout to that of the next."""

    def __init__(self) -> None:
        super().__init__()
        self.began: list[float] = []

    def _on_rollout_start(self) -> None:
        self.began.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


def environment(way: str) -> VecEnv:
    number = GAMES[way]
    if way == "loop":
        return Boards(number)
    return make_vec_env(Board, number, vec_env_cls=DummyVecEnv if way == "make_vec_env" else SubprocVecEnv)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    games = environment(job["way"])
    model = MaskablePPO(
        "MlpPolicy", games, n_steps=STEPS // games.num_envs, batch_size=job["batch_size"], n_epochs=job["epochs"],
        learning_rate=job["learning_rate"], gamma=1.0, ent_coef=job["entropy_coefficient"], seed=0, device="cpu",
        policy_kwargs={
            "features_extractor_class": Trunk, "features_extractor_kwargs": {"hidden": job["hidden"]}, "net_arch": [],
        },
    )  # fmt: skip
    timer = Timer()
    model.learn(STEPS * (1 + job["iterations"]), callback=timer)
    ends = [*timer.began, time.perf_counter()]
    seconds = [b - a for a, b in pairwise(ends)][1:]
    sys.stdout.write(f"\n{STEPS / median(seconds)}\n")


if __name__ == "__main__":
    main()
