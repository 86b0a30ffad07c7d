"""Batches as a rollout would give them, made of nothing but random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from selfplay.learner.batch import Batch
from selfplay.learner.ppo import PPO, PPOSettings
from selfplay.policy.heads import sample
from selfplay.policy.network import ActorCritic


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def played(network: ActorCritic, rows: int = 96, seed: int = 0) -> Batch:
    """Rows in which ``network`` itself acted; advantages and targets are noise."""
    torch.set_num_threads(1)
    obs = torch.randn(rows, network.spec.obs_width, generator=seeded(seed))
    with torch.inference_mode():
        logits, value = network(obs)
        action, logprob = sample(network.heads, logits, seeded(seed + 1))
    advantage = torch.randn(rows, generator=seeded(seed + 2))
    # what inference mode made cannot enter autograd
    return Batch(obs, action.clone(), logprob.clone(), value.clone(), advantage, value.clone() + advantage)


@contextmanager
def ppo(network: ActorCritic, threads: int = 1, **settings: Any) -> Iterator[PPO]:
    learner = PPO(network, PPOSettings(**settings), threads=threads)
    try:
        yield learner
    finally:
        learner.close()


def learned(
    network: ActorCritic, batch: Batch, settings: PPOSettings, *, critic_only: bool = False
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The gradient of every parameter, and the sums of the loss's parts."""
    learner = PPO(network, settings)
    try:
        everything = torch.arange(len(batch))
        return learner.gradients(batch, everything, list(network.parameters()), share=1.0, critic_only=critic_only)
    finally:
        learner.close()


def weights(network: ActorCritic) -> torch.Tensor:
    """All parameters in one copied row."""
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()]).clone()
