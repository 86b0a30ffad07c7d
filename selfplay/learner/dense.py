"""Dense networks with their gradient written out, which is faster than autograd (docs/adr/0013).

Activations, with the bias before them, and their derivatives are applied in place; sums over rows are products with
ones; logits and value stay side by side; and the results of a pass are written into a workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from selfplay.policy.compiled_activations import WITH_BIAS

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.rollout.buffers import Workspace

_TANH, _RELU = torch.ops.aten.tanh_backward.grad_input, torch.ops.aten.threshold_backward.grad_input

DERIVATIVES: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "tanh": lambda along, h: _TANH(along, h, grad_input=along),
    "relu": lambda along, h: _RELU(along, h, 0, grad_input=along),
}
"""In place: the gradient before an activation from the gradient after it and its output ``h``."""


def can_handle(network: ActorCritic) -> bool:
    """Return True for a dense network in single precision on the CPU, with one of ``DERIVATIVES``."""
    if network.spec.kind != "mlp" or network.spec.activation not in DERIVATIVES:
        return False
    weight = network.out.weight
    return weight.device.type == "cpu" and weight.dtype == torch.float32


class Dense:
    """Passes through one network that ``can_handle`` accepts. Safe for threads with a workspace each."""

    def __init__(self, network: ActorCritic) -> None:
        parameters = list(network.parameters())  # weight, bias, weight, bias, ... up to the layer of both outputs
        self._weights, self._biases = parameters[::2], parameters[1::2]
        self._activate, self._before = WITH_BIAS[network.spec.activation], DERIVATIVES[network.spec.activation]

    @torch.no_grad()
    def forward(self, obs: Tensor, workspace: Workspace) -> list[Tensor]:
        """Observations [N, D], the output of each activation, and last the logits with the value, [N, L + 1]."""
        kept, last = [obs], len(self._weights) - 1
        for i, (weight, bias) in enumerate(zip(self._weights, self._biases, strict=True)):
            rows = _rows(workspace, f"after {i}", len(obs), len(bias))
            if i == last:
                kept.append(torch.addmm(bias, kept[-1], weight.t(), out=rows))
            else:
                kept.append(self._activate(torch.mm(kept[-1], weight.t(), out=rows), bias))
        return kept

    @torch.no_grad()
    def backward(self, kept: Sequence[Tensor], along: Tensor, layers: int, workspace: Workspace) -> list[Tensor]:
        """Gradients of the weight and the bias of each of the last ``layers``.

        ``kept`` is the result of ``forward``, whose workspace may be given again, and ``along`` [N, L + 1] the gradient
        with respect to the outputs.
        """
        ones, found, top = along.new_ones(len(along)), [], len(self._weights) - 1
        for i in range(top, top - layers, -1):
            turned = along.t()
            found += [torch.mv(turned, ones), turned @ kept[i]]
            if i > top - layers + 1:
                rows = _rows(workspace, f"before {i}", len(along), kept[i].shape[1])
                along = self._before(torch.mm(along, self._weights[i], out=rows), kept[i])
        return found[::-1]


def _rows(workspace: Workspace, name: str, rows: int, width: int) -> Tensor:
    return torch.from_numpy(workspace.array(name, (rows, width), np.float32))
