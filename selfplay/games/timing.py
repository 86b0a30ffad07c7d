"""How long a step of a game takes."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.games.check import random_step

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame

STEPS: Final = 20
SECONDS: Final = 0.2  # that measuring takes, but for a single step


def step_seconds(game: ScriptedGame) -> float:
    """Median seconds of a step of a block in random play. Plays; closes nothing."""
    rng, taken = np.random.default_rng(0), []
    game.bots[:] = -1
    game.reset(np.arange(game.num_games, dtype=np.uint64))
    end = time.monotonic() + SECONDS
    for _ in range(STEPS):
        actions, start = random_step(game, rng), time.perf_counter()
        game.step(actions)
        taken.append(time.perf_counter() - start)
        if time.monotonic() >= end:
            break
    return median(taken)
