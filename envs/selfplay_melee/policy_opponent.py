"""A policy folder as the opponent of a Gymnasium environment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.policy.recurrent_state import RecurrentState
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.opponents import Player


def load_opponent(folder: str | Path) -> Player:
    """The policy in a folder: it draws its actions at its own frame skip and delay. Errors as of ``load_fighter``."""
    policy = load_fighter(folder)
    generator = torch.Generator()
    memory = RecurrentState(0)

    def act(obs: NDArray[np.float32], games: NDArray[np.intp]) -> NDArray[np.int8]:
        memory.seat(int(games.max(initial=-1)) + 1)
        return policy.act(obs, generator, memory=memory, rows=torch.from_numpy(games))

    def forget(games: NDArray[np.intp]) -> None:
        memory.seat(int(games.max(initial=-1)) + 1)
        memory.forget(torch.from_numpy(games))

    start, name = generator.manual_seed, Path(folder).resolve().name
    return Player(act, policy.body.frame_skip, policy.body.delay, start, forget, name)
