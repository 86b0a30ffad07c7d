"""PettingZoo's Connect Four with the time that it takes, and many games of it for other trainers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.classic.connect_four_v3 import raw_env

from scripts.studies.rivals.programs.streams import Step

if TYPE_CHECKING:
    from envs.api import F32, Bool
    from scripts.studies.rivals.programs.job import Laps

P = ParamSpec("P")
R = TypeVar("R")
BOARD: Final = (6, 7, 2)  # shape of an observation
COLUMNS: Final = 7
OBSERVATIONS: Final = spaces.Box(0.0, 1.0, (int(np.prod(BOARD)),), np.float32)
ACTIONS: Final = spaces.Discrete(COLUMNS)
PARTS: Final = ("environment", "adapter", "collect", "update", "rest")
"""Of an iteration: inside PettingZoo's game, in the block of games around it, the rest of the rollout, the update."""


@dataclass(slots=True)
class Spent:
    """Seconds inside PettingZoo's games, and inside the block of games that contains them, by iteration."""

    environment: float = 0.0  # of the iteration in progress
    block: float = 0.0
    laps: list[tuple[float, float]] = field(default_factory=list)

    def lap(self) -> None:
        """End an iteration."""
        self.laps.append((self.environment, self.block))
        self.environment = self.block = 0.0


SPENT: Final = Spent()  # of this process


def timed(part: Literal["environment", "block"], method: Callable[P, R]) -> Callable[P, R]:
    """A method whose time is added to a part of ``SPENT``."""

    @wraps(method)
    def measured(*args: P.args, **kwargs: P.kwargs) -> R:
        began = time.perf_counter()
        result = method(*args, **kwargs)
        setattr(SPENT, part, getattr(SPENT, part) + time.perf_counter() - began)
        return result

    return measured


class TimedGame(raw_env):
    """PettingZoo's game without wrappers, timed."""

    reset = timed("environment", raw_env.reset)
    step = timed("environment", raw_env.step)
    observe = timed("environment", raw_env.observe)


class Boards:
    """B games as B rows; a step is the decision of the seat to move, which is rewarded for it.

    What follows a decision is the position of the other seat, whose value is the negative of one's own. With the
    discount -1 in place of 1, the usual recursion of GAE credits both seats.
    """

    def __init__(self, games: int) -> None:
        self._games = [TimedGame() for _ in range(games)]
        self.num_streams = games
        self.observation_space, self.action_space = OBSERVATIONS, ACTIONS
        self.masks: Bool = np.zeros((games, COLUMNS), np.bool_)  # of the next decisions

    def reset(self) -> F32:
        """Start all games; first observations [B, 84]."""
        for game in self._games:
            game.reset()
        return self._see()

    def step(self, actions: NDArray[Any]) -> Step:
        """Play one decision in every game, integers [B]. Games that end are reset in the same step."""
        reward, over = np.zeros(self.num_streams, np.float32), np.zeros(self.num_streams, np.bool_)
        for b, (game, action) in enumerate(zip(self._games, actions.tolist(), strict=True)):
            seat = game.agent_selection
            game.step(action)
            if game.terminations[seat]:
                reward[b], over[b] = game.rewards[seat], True
                game.reset()
        obs = self._see()
        return Step(obs, reward, over, np.zeros_like(over), obs)  # none is truncated: the last ones are not read

    def _see(self) -> F32:
        obs = np.empty((self.num_streams, *BOARD), np.float32)
        for b, game in enumerate(self._games):
            seen = game.observe(game.agent_selection)
            obs[b], self.masks[b] = seen["observation"], seen["action_mask"]
        return obs.reshape(self.num_streams, -1)


def answer(version: str, rows: Sequence[int], laps: Laps) -> None:
    """Print the seconds of ``PARTS`` as the last line, without the first iteration, and the agent-steps.

    Args:
        version: Of the trainer.
        rows: Agent-steps of each iteration.
        laps: Its times; ``SPENT`` has as many.
    """
    seconds = dict.fromkeys(PARTS, 0.0)
    for total, rollout, update, (environment, block) in list(
        zip(laps.total, laps.rollout, laps.update, SPENT.laps, strict=True)
    )[1:]:
        parts = environment, block - environment, rollout - block, update, total - rollout - update
        for name, spent in zip(PARTS, parts, strict=True):
            seconds[name] += spent
    sys.stdout.write("\n" + json.dumps({"version": version, "agent_steps": sum(rows[1:]), "seconds": seconds}) + "\n")
    sys.stdout.flush()
