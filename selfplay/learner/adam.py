"""The Adam optimizer (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980) on torch's fused kernel.

The steps are those of ``torch.optim.Adam(fused=True)``, which would import torch's compiler (docs/adr/0012).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

BETA1, BETA2 = 0.9, 0.999  # decay of the two moments
State = dict[Tensor, dict[str, Tensor]]
"""By parameter: ``step``, the number of its steps, float32 []; ``exp_avg`` and ``exp_avg_sq``, its moments."""


class Adam:
    """Updates parameters by their ``grad``; a parameter without one keeps its value and its moments.

    Args:
        learning_rate: may be changed between steps.
        eps: added to the square root.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"fused": True}  # as in torch: step counts are on the parameter's device

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float,
        eps: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.state: State = {}
        self._eps = eps

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step against the gradients."""
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
