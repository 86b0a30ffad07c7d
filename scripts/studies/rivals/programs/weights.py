"""Conversion of the weights of our network to those of other trainers.

Our network has one linear layer after the trunk: a logit for each button, the logits of each categorical, the value.
Others have a categorical of two classes for a button, whose logit of "not pressed" is 0 in the same policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from selfplay_melee.controller import ACTION_SPEC

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUTTONS = ACTION_SPEC.binary
CLASSES = (2,) * BUTTONS + tuple(ACTION_SPEC.sizes)
"""Classes of each categorical; a button has two."""
LOGITS = sum(CLASSES)


@dataclass(frozen=True, slots=True)
class Layers:
    """The linear layers of a trainer's network."""

    trunk: tuple[nn.Linear, ...]
    actor: nn.Linear  # LOGITS wide
    critic: nn.Linear  # one wide

    def read(self, path: str) -> None:
        """Load weights from a file with the names of our network."""
        with np.load(path, allow_pickle=False) as file, torch.no_grad():
            for i, layer in enumerate(self.trunk):
                _put(layer, file[f"trunk.{2 * i}.weight"], file[f"trunk.{2 * i}.bias"])
            weight, bias = file["out.weight"], file["out.bias"]
            _put(self.actor, _apart(weight[:-1]), _apart(bias[:-1]))
            _put(self.critic, weight[-1:], bias[-1:])


def dense(width: int, hidden: Sequence[int], activation: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    """A trunk like ours: dense layers, each followed by an activation."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((width, *hidden)):
        layers += [nn.Linear(fan_in, fan_out), activation()]
    return nn.Sequential(*layers)


def linear(trunk: nn.Sequential) -> tuple[nn.Linear, ...]:
    """Its dense layers."""
    return tuple(layer for layer in trunk if isinstance(layer, nn.Linear))


def _apart(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of one logit a button to rows of two."""
    pairs = np.zeros((2 * BUTTONS, *logits.shape[1:]), np.float32)
    pairs[1::2] = logits[:BUTTONS]
    return np.concatenate([pairs, logits[BUTTONS:]])


def _put(layer: nn.Linear, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
    layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
    layer.bias.copy_(torch.from_numpy(np.ascontiguousarray(bias)))
