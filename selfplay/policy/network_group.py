"""The networks of several players, each run on its own seats of one batch of observations.

Small dense networks of one shape share one batched product per layer, since many small products take longer to start
than to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from selfplay.policy.compiled_activations import WITH_BIAS
from selfplay.policy.network import ACTIVATIONS, ActorCritic
from selfplay.policy.recurrent_state import infer_directly

if TYPE_CHECKING:
    from selfplay.policy.recurrent_state import RecurrentState

ALONE: Final = 180  # rows in a stack that take as long as a network of its own takes to start

Member = tuple[ActorCritic, Tensor]
"""A network and its seats, int64 [N]."""
Layer = tuple[Tensor, Tensor]
"""Weights [inputs, outputs] and biases [1, outputs] of a layer."""


class NetworkGroup:
    """Runs networks with the same action heads on the seats that they play. Their weights must not change."""

    def __init__(self, members: Sequence[Member], memory: RecurrentState) -> None:
        """Stack at least one network; ``memory``, of all seats, also runs those that are not stacked."""
        stacks: dict[object, list[Member]] = {}
        self._alone: list[Member] = []
        for network, rows in members:
            here = memory.infer is infer_directly and network.out.weight.is_cpu
            if here and network.spec.kind == "mlp":
                spec = network.spec
                stacks.setdefault((spec.obs_width, spec.hidden, spec.activation), []).append((network, rows))
            else:
                self._alone.append((network, rows))
        self._stacks = []
        for stack in stacks.values():
            stack.sort(key=lambda member: -len(member[1]))
            # A stack pads its members to the longest: those with by far the most rows run alone.
            costs = [ALONE * i + (len(stack) - i) * len(rows) for i, (_, rows) in enumerate(stack)]
            alone = costs.index(min(costs))
            if len(stack) - alone == 1:
                alone += 1
            self._alone += stack[:alone]
            if stack[alone:]:
                self._stacks.append(_Stack(stack[alone:]))
        self._memory = memory
        self.rows = torch.cat([rows for _, rows in self._alone] + [stack.rows for stack in self._stacks])
        """The seats of all members in the order of the logits, int64 [N]."""

    def logits(self, obs: Tensor) -> Tensor:
        """Logits of the members' seats, float32 [N, L], from the observations of all seats, [S, D]."""
        parts = [self._memory.step(network, obs[rows], rows)[0] for network, rows in self._alone]
        parts += [stack.logits(obs) for stack in self._stacks]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


_known: WeakKeyDictionary[ActorCritic, list[Layer]] = WeakKeyDictionary()


def _layers(network: ActorCritic) -> list[Layer]:
    """Its layers as a stack needs them, made once: a group is new whenever an episode ends, its networks are not."""
    if (found := _known.get(network)) is None:
        layers = [*(part for part in network.trunk if isinstance(part, nn.Linear)), network.out]
        with torch.no_grad():
            found = [(layer.weight.T.contiguous(), layer.bias[None].clone()) for layer in layers]
        _known[network] = found
    return found


class _Stack:
    """Dense networks of one shape, and the seats of each, padded to those of the longest."""

    def __init__(self, members: Sequence[Member]) -> None:
        networks = [network for network, _ in members]
        activation = networks[0].spec.activation
        self._activation, self._with_bias = ACTIVATIONS[activation](), WITH_BIAS.get(activation)
        layers = zip(*map(_layers, networks), strict=True)
        self._layers = [tuple(map(torch.stack, zip(*alike, strict=True))) for alike in layers]
        self.rows = torch.cat([rows for _, rows in members])
        padded = nn.utils.rnn.pad_sequence([rows for _, rows in members], batch_first=True)  # [K, longest]
        counts = torch.tensor([len(rows) for _, rows in members])
        self._shape, self._padded = padded.shape, padded.reshape(-1)
        self._real = (torch.arange(self._shape[1]) < counts[:, None]).reshape(-1).nonzero()[:, 0]  # of the padded ones

    def logits(self, obs: Tensor) -> Tensor:
        x = obs.index_select(0, self._padded).view(*self._shape, -1)
        for weight, bias in self._layers[:-1]:
            if self._with_bias is not None:
                x = self._with_bias(torch.bmm(x, weight), bias[:, 0])
            else:
                x = self._activation.forward(torch.baddbmm(bias, x, weight))
        weight, bias = self._layers[-1]
        found = torch.baddbmm(bias, x, weight).flatten(0, 1)
        return found.index_select(0, self._real)[:, :-1]  # without the value
