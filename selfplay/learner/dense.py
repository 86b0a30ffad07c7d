"""Dense networks with their gradient written out, which takes less than layer by layer through autograd.

Activations and their derivatives, which follow from what they gave alone, are applied in place; sums over rows are
products with ones; both outputs of a network stay side by side; and what a pass keeps lies in arrays used again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.rollout.reused import Reused

_TANH, _RELU = torch.ops.aten.tanh_backward.grad_input, torch.ops.aten.threshold_backward.grad_input

ACTIVATIONS: Final[dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]]] = {
    "tanh": (torch.tanh_, lambda along, h: _TANH(along, h, grad_input=along)),
    "relu": (torch.relu_, lambda along, h: _RELU(along, h, 0, grad_input=along)),
}
"""In place: the function; and what a gradient after ``h``, which it gave, is before it."""


def can_handle(network: ActorCritic, obs: Tensor) -> bool:
    """Whether this is a dense network on the processor, with such an activation."""
    here = obs.device.type == "cpu" and obs.dtype == torch.float32
    return here and network.spec.kind == "mlp" and network.spec.activation in ACTIVATIONS


@torch.no_grad()
def forward(network: ActorCritic, obs: Tensor, arrays: Reused) -> list[Tensor]:
    """Observations [N, D], what each activation gave, and last the logits and, beside them, the values [N, L + 1]."""
    apply, _ = ACTIVATIONS[network.spec.activation]
    parameters = list(network.parameters())  # weight, bias, weight, bias, ... up to the layer of both outputs
    weights, biases, kept = parameters[::2], parameters[1::2], [obs]
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        after = torch.addmm(bias, kept[-1], weight.t(), out=_rows(arrays, len(obs), len(bias)))
        kept.append(after if i == len(weights) - 1 else apply(after))
    return kept


@torch.no_grad()
def backward(
    network: ActorCritic, kept: Sequence[Tensor], along: Tensor, moving: Sequence[Tensor], arrays: Reused
) -> list[Tensor]:
    """Gradients of the last parameters of a network.

    Args:
        network: whose they are.
        kept: of ``forward``.
        along: the gradient of its last, [N, L + 1].
        moving: the parameters, whole layers.
        arrays: as those of ``forward``.
    """
    _, before = ACTIVATIONS[network.spec.activation]
    ones, found, weights = along.new_ones(len(along)), [], moving[::2]
    inputs = kept[-1 - len(weights) : -1]
    for i in range(len(weights) - 1, -1, -1):
        found += [torch.mv(along.t(), ones), along.t() @ inputs[i]]
        if i:
            below = torch.mm(along, weights[i], out=_rows(arrays, len(along), inputs[i].shape[1]))
            along = before(below, inputs[i])
    return found[::-1]


def _rows(arrays: Reused, rows: int, width: int) -> Tensor:
    return torch.from_numpy(arrays.array((rows, width), np.float32))
