"""AdamW for losses of any scale (Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101)."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import nn

EPS: Final = 1e-5  # of the gradient's root mean square
_MIN_EPS: Final = 1e-30  # without any gradient: 0 / eps must be 0


class ScaledAdamW(torch.optim.AdamW):
    """AdamW whose eps is ``EPS`` times the root mean square of the gradient, over all parameters and past steps.

    A fixed eps would shorten the steps of models that are large, or whose replies may be long, since both have small
    gradients. Without eps, gradients that are 0 but for rounding would move parameters by whole steps: in float32 those
    of key biases with learned positions are about 1e-8 of the root mean square. ``EPS`` is between that and the
    gradients of a new adapter's first matrices, which start at about 3e-5 of it at a learning rate of 1e-6.
    """

    def step(self, closure: Any = None) -> Any:  # noqa: ANN401
        self.param_groups[0]["eps"] = max(_MIN_EPS, EPS * self._gradient_rms())
        return super().step(closure)

    def _gradient_rms(self) -> float:
        """Averaged over the steps as the second moments are, from which a resumed run has it."""
        group = self.param_groups[0]
        parameters, beta = group["params"], group["betas"][1]
        total = (1 - beta) * float(nn.utils.get_total_norm([parameter.grad for parameter in parameters])) ** 2
        steps = 0.0
        if self.state:
            total += beta * float(nn.utils.get_total_norm([self.state[each]["exp_avg_sq"] for each in parameters], 1.0))
            steps = float(self.state[parameters[0]]["step"])
        count = sum(parameter.numel() for parameter in parameters)
        return float((total / (1 - beta ** (steps + 1)) / count) ** 0.5)


def adamw(network: nn.Module, learning_rate: float, weight_decay: float) -> ScaledAdamW:
    """The optimizer of the trainable parameters of a network."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    fused = parameters[0].device.type in ("cpu", "cuda")
    return ScaledAdamW(parameters, learning_rate, weight_decay=weight_decay, fused=fused)
