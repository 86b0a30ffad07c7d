"""Networks of a user's own, for tests; ``module:name`` of each is ``tests.policy.bodies:NAME``."""

import torch
from torch import nn


class TwoLayers(nn.Module):
    """What the dense network with ``hidden=(8, 8)`` is."""

    def __init__(self, obs_width):
        super().__init__()
        self.first = nn.Linear(obs_width, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.second(torch.tanh(self.first(x))))


def wide(obs_width):
    return nn.Sequential(nn.Linear(obs_width, 12), nn.LayerNorm(12), nn.SiLU())


class Unused(TwoLayers):
    def __init__(self, obs_width):
        super().__init__(obs_width)
        self.spare = nn.Linear(3, 3)


class Flat(nn.Module):
    def __init__(self, obs_width):
        super().__init__()

    def forward(self, x):
        return x.sum(1)


def failing(obs_width):
    raise ValueError(f"no network for {obs_width}")


def none(obs_width):
    return None


number = 3
