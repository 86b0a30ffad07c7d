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


def can_handle(network: ActorCritic) -> bool:
    """Whether this is a dense network in single precision on the processor, with such an activation."""
    if network.spec.kind != "mlp" or network.spec.activation not in ACTIVATIONS:
        return False
    weight = network.out.weight
    return weight.device.type == "cpu" and weight.dtype == torch.float32


class Dense:
    """Passes through one network, which ``can_handle`` speaks of. Safe for threads.

    Args:
        network: Its weights may move between passes.
        arrays: For what is kept meanwhile.
    """

    def __init__(self, network: ActorCritic, arrays: Reused) -> None:
        parameters = list(network.parameters())  # weight, bias, weight, bias, ... up to the layer of both outputs
        self._weights, self._biases = parameters[::2], parameters[1::2]
        self._apply, self._before = ACTIVATIONS[network.spec.activation]
        self._arrays = arrays

    @torch.no_grad()
    def forward(self, obs: Tensor) -> list[Tensor]:
        """Observations [N, D], what each activation gave, and last logits and, beside them, values [N, L + 1]."""
        kept, last = [obs], len(self._weights) - 1
        for i, (weight, bias) in enumerate(zip(self._weights, self._biases, strict=True)):
            after = torch.addmm(bias, kept[-1], weight.t(), out=self._rows(len(obs), len(bias)))
            kept.append(after if i == last else self._apply(after))
        return kept

    @torch.no_grad()
    def backward(self, kept: Sequence[Tensor], along: Tensor, layers: int) -> list[Tensor]:
        """Gradients of the weight and the bias of each of the last ``layers``.

        ``along`` is that of the outputs, [N, L + 1]; ``kept`` is what ``forward`` gave.
        """
        ones, found, top = along.new_ones(len(along)), [], len(self._weights) - 1
        for i in range(top, top - layers, -1):
            turned = along.t()
            found += [torch.mv(turned, ones), turned @ kept[i]]
            if i > top - layers + 1:
                below = torch.mm(along, self._weights[i], out=self._rows(len(along), kept[i].shape[1]))
                along = self._before(below, kept[i])
        return found[::-1]

    def _rows(self, rows: int, width: int) -> Tensor:
        return torch.from_numpy(self._arrays.array((rows, width), np.float32))
