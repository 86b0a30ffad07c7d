"""The networks of several players, each run on its own seats of one batch of observations.

Small dense networks of one shape share one batched product per layer, since many small products take longer to start
than to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn

from selfplay.policy.network import ACTIVATIONS, ActorCritic
from selfplay.policy.recurrent_state import infer_directly

if TYPE_CHECKING:
    from selfplay.policy.recurrent_state import RecurrentState

MANY_ROWS: Final = 16  # a network with this many rows runs alone, since a stack pads its rows to the longest member

Member = tuple[ActorCritic, Tensor]
"""A network and its seats, int64 [N]."""


class NetworkGroup:
    """Runs networks with the same action heads on the seats that they play.

    Attributes:
        rows: the seats of all members in the order of the logits, int64 [N].
    """

    def __init__(self, members: Sequence[Member], memory: RecurrentState) -> None:
        """Stack the networks.

        Args:
            members: at least one.
            memory: of all seats; it also runs the networks that are not stacked.
        """
        stacks: dict[object, list[Member]] = {}
        self._alone: list[Member] = []
        for network, rows in members:
            here = memory.infer is infer_directly and network.out.weight.is_cpu
            if here and not network.memory_width and len(rows) < MANY_ROWS:
                spec = network.spec
                stacks.setdefault((spec.obs_width, spec.hidden, spec.activation), []).append((network, rows))
            else:
                self._alone.append((network, rows))
        self._alone += [stack[0] for stack in stacks.values() if len(stack) == 1]
        self._stacks = [_Stack(stack) for stack in stacks.values() if len(stack) > 1]
        self._memory = memory
        self.rows = torch.cat([rows for _, rows in self._alone] + [stack.rows for stack in self._stacks])

    def logits(self, obs: Tensor) -> Tensor:
        """Logits of the members' seats, float32 [N, L], from the observations of all seats, [S, D]."""
        parts = [self._memory.step(network, obs[rows], rows)[0] for network, rows in self._alone]
        parts += [stack.logits(obs) for stack in self._stacks]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class _Stack:
    """Dense networks of one shape, and the seats of each, padded to those of the longest."""

    def __init__(self, members: Sequence[Member]) -> None:
        networks = [network for network, _ in members]
        self._activation = ACTIVATIONS[networks[0].spec.activation]()
        layers = [
            [part for part in network.trunk if isinstance(part, nn.Linear)] + [network.out] for network in networks
        ]
        with torch.no_grad():
            self._layers = [
                (torch.stack([layer.weight.T for layer in alike]), torch.stack([layer.bias[None] for layer in alike]))
                for alike in zip(*layers, strict=True)
            ]
        self.rows = torch.cat([rows for _, rows in members])
        self._padded = nn.utils.rnn.pad_sequence([rows for _, rows in members], batch_first=True)  # [K, longest]
        counts = torch.tensor([len(rows) for _, rows in members])
        self._real = torch.arange(self._padded.shape[1]) < counts[:, None]

    def logits(self, obs: Tensor) -> Tensor:
        x = obs[self._padded]
        for weight, bias in self._layers[:-1]:
            x = self._activation.forward(torch.baddbmm(bias, x, weight))
        weight, bias = self._layers[-1]
        return torch.baddbmm(bias, x, weight)[self._real][:, :-1]  # without the value
