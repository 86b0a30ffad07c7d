"""Dense networks with their gradient written out, which takes less than layer by layer through autograd.

Activations and their derivatives, which follow from what they gave alone, are applied in place; sums over rows are
products with ones; and both outputs of a network stay side by side on their way back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

_TANH, _RELU = torch.ops.aten.tanh_backward.grad_input, torch.ops.aten.threshold_backward.grad_input

ACTIVATIONS: Final[dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]]] = {
    "tanh": (torch.tanh_, lambda along, h: _TANH(along, h, grad_input=along)),
    "relu": (torch.relu_, lambda along, h: _RELU(along, h, 0, grad_input=along)),
}
"""In place: the function; and what a gradient after ``h``, which it gave, is before it."""


def joined(network: ActorCritic, obs: Tensor) -> Tensor:
    """Logits and, beside them, the values, [N, L + 1], of observations [N, D]; of a network without memory."""
    if network.spec.kind != "mlp" or network.spec.activation not in ACTIVATIONS:
        logits, value = network(obs)
        return torch.cat([logits, value[:, None]], 1)
    result: Tensor = _Dense.apply(obs, network.spec.activation, *network.parameters())  # type: ignore[no-untyped-call]
    return result


class _Dense(torch.autograd.Function):
    """Of parameters weight, bias, weight, bias, ... up to the layer of both outputs."""

    @staticmethod
    def forward(ctx: Any, obs: Tensor, activation: str, *parameters: Tensor) -> Tensor:  # noqa: ANN401
        apply, ctx.before = ACTIVATIONS[activation]
        weights, biases = parameters[::2], parameters[1::2]
        inputs = [obs]
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            inputs.append(apply(torch.addmm(bias, inputs[-1], weight.t())))
        ctx.save_for_backward(*inputs, *weights)
        return torch.addmm(biases[-1], inputs[-1], weights[-1].t())

    @staticmethod
    def backward(ctx: Any, along: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        saved = ctx.saved_tensors
        inputs, weights = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        ones, found = along.new_ones(len(along)), []
        for i in range(len(inputs) - 1, -1, -1):
            found += [torch.mv(along.t(), ones), along.t() @ inputs[i]]
            if i:
                along = ctx.before(along @ weights[i], inputs[i])
        return None, None, *reversed(found)
