"""A policy folder as the opponent of a Gymnasium environment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from envs.melee.observation import ENCODER_VERSION
from envs.opponents import Player
from selfplay.errors import IncompatibleError
from selfplay.policy.policy import load_policy


def load_opponent(folder: str | Path) -> Player:
    """The policy in a folder; it draws its actions, and plays at its own frame skip and delay.

    Raises:
        CheckpointError: see ``load_policy``.
        IncompatibleError: it was made for another layout of observations.
    """
    policy = load_policy(folder)
    if policy.meta.encoder_version != ENCODER_VERSION:
        made_for = policy.meta.encoder_version
        raise IncompatibleError(f"{folder} was made for observations of version {made_for}, here is {ENCODER_VERSION}")
    generator = torch.Generator()

    def act(obs: NDArray[np.float32]) -> NDArray[np.int8]:
        return policy.act(obs, generator)

    return Player(act, policy.meta.frame_skip, policy.meta.delay, generator.manual_seed)
