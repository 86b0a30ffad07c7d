"""The optimizers, and the step that all learners share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import torch
from torch import Tensor, nn

from selfplay.learner.sharding import whole

BETA1, BETA2 = 0.9, 0.999  # decay of the two moments
EPS: Final = 1e-5  # of the gradient's root mean square
_MIN_EPS: Final = 1e-30  # without any gradient: 0 / eps must be 0
State = dict[Tensor, dict[str, Tensor]]
"""By parameter: ``step``, the number of its steps, float32 []; ``exp_avg`` and ``exp_avg_sq``, its moments."""


class Adam:
    """Adam (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980) on torch's fused kernel.

    The steps are those of ``torch.optim.Adam(fused=True)``, which would import torch's compiler (docs/adr/0012). A
    parameter without a ``grad`` keeps its value and its moments. ``learning_rate`` may be changed between steps.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"fused": True}  # as in torch: step counts are on the parameter's device

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float, eps: float = 1e-8) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.state: State = {}
        self._eps = eps

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        trained = [parameter for parameter in self.parameters if parameter.grad is not None]
        states = [self.state.setdefault(parameter, {}) or self._first(parameter) for parameter in trained]
        for state in states:
            state["step"] += 1.0
        torch._fused_adam_(
            trained, [parameter.grad for parameter in trained if parameter.grad is not None],
            [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states], [],
            [state["step"] for state in states],
            lr=self.learning_rate, beta1=BETA1, beta2=BETA2, weight_decay=0.0, eps=self._eps,
            amsgrad=False, maximize=False,
        )  # fmt: skip

    def copy(self) -> State:
        """A copy of the state; assign it to ``state`` to return to it."""
        return {
            parameter: {name: tensor.clone() for name, tensor in of.items()} for parameter, of in self.state.items()
        }

    def _first(self, parameter: Tensor) -> dict[str, Tensor]:
        state = self.state[parameter]
        state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        return state


class ScaledAdamW(torch.optim.AdamW):
    """AdamW (Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101) for losses of any scale.

    Its eps is ``EPS`` times the root mean square of the gradient, over all parameters and past steps. A fixed eps would
    shorten the steps of models that are large, or whose replies may be long, since both have small gradients. Without
    eps, gradients that are 0 but for rounding would move parameters by whole steps: in float32 those of key biases with
    learned positions are about 1e-8 of the root mean square. ``EPS`` is between that and the gradients of a new
    adapter's first matrices, which start at about 3e-5 of it at a learning rate of 1e-6.
    """

    def step(self, closure: Any = None) -> Any:  # noqa: ANN401
        self.param_groups[0]["eps"] = max(_MIN_EPS, EPS * self._gradient_rms())
        return super().step(closure)

    def _gradient_rms(self) -> float:
        """Averaged over the steps as the second moments are, from which a resumed run has it."""
        group = self.param_groups[0]
        parameters, beta = group["params"], group["betas"][1]
        total = (1 - beta) * _norm([parameter.grad for parameter in parameters]) ** 2
        steps = 0.0
        if self.state:
            total += beta * _norm([self.state[each]["exp_avg_sq"] for each in parameters], 1.0)
            steps = float(self.state[parameters[0]]["step"])
        count = sum(parameter.numel() for parameter in parameters)
        return float((total / (1 - beta ** (steps + 1)) / count) ** 0.5)


def _norm(tensors: Sequence[Tensor], order: float = 2.0) -> float:
    return float(whole(nn.utils.get_total_norm(tensors, order)))


def adamw(network: nn.Module, learning_rate: float, weight_decay: float) -> ScaledAdamW:
    """The optimizer of the trainable parameters of a network."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    fused = parameters[0].device.type in ("cpu", "cuda")
    return ScaledAdamW(parameters, learning_rate, weight_decay=weight_decay, fused=fused)


@dataclass(slots=True)
class StepSums:
    """Sums over the steps with a finite gradient."""

    sums: Tensor  # float64 [K]
    norms: list[Tensor] = field(default_factory=list)  # of the gradients
    count: int = 0  # decisions or tokens
    skipped: int = 0  # the other steps

    def add(self, sums: Tensor, norm: Tensor, count: int) -> None:
        if not bool(torch.isfinite(norm)):
            self.skipped += 1
            return
        self.sums += sums
        self.norms.append(norm)
        self.count += count


def add_gradients(total: Sequence[Tensor], more: Sequence[Tensor]) -> None:
    """Add gradients to others in place, parameter by parameter."""
    for gradient, other in zip(total, more, strict=True):
        gradient.add_(other)


def clip_and_step(
    optimizer: Adam | torch.optim.Optimizer,
    trainable: Sequence[Tensor],
    gradients: Sequence[Tensor],
    max_grad_norm: float,
) -> Tensor:
    """Clip the gradients of the trainable parameters by their norm, in place, and apply them if that is finite."""
    optimizer.zero_grad()
    for parameter, gradient in zip(trainable, gradients, strict=True):
        parameter.grad = gradient
    norm = whole(nn.utils.clip_grad_norm_(trainable, max_grad_norm))
    if bool(torch.isfinite(norm)):
        optimizer.step()
    return norm
