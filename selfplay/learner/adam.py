"""The Adam optimiser (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980), by torch's own fused kernel.

``torch.optim`` makes the same steps, but to make its first optimiser it imports torch's compiler: a second of time and
a hundred megabytes that nothing here asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

State = dict[Tensor, dict[str, Tensor]]
"""By parameter: ``step``, the number of its steps, float32 []; ``exp_avg`` and ``exp_avg_sq``, its moments."""


class Adam:
    """Moves parameters by their ``grad``; one without stays where it is, and its moments too.

    Args:
        parameters: of a network.
        learning_rate: of the first step; may be set.
        betas: decay of the two moments.
        eps: beside the square root.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"fused": True}  # says as torch does where counts of steps live

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.state: State = {}
        self._betas = betas
        self._eps = eps

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step down the gradients."""
        moving = [parameter for parameter in self.parameters if parameter.grad is not None]
        states = [self.state.setdefault(parameter, {}) or self._first(parameter) for parameter in moving]
        torch._foreach_add_([state["step"] for state in states], 1.0)
        torch._fused_adam_(
            moving, [parameter.grad for parameter in moving if parameter.grad is not None],
            [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states], [],
            [state["step"] for state in states],
            lr=self.learning_rate, beta1=self._betas[0], beta2=self._betas[1], weight_decay=0.0, eps=self._eps,
            amsgrad=False, maximize=False,
        )  # fmt: skip

    def copy(self) -> State:
        """The state of now, to go back to by setting ``state``."""
        return {
            parameter: {name: tensor.clone() for name, tensor in of.items()} for parameter, of in self.state.items()
        }

    def _first(self, parameter: Tensor) -> dict[str, Tensor]:
        state = self.state[parameter]
        state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        return state
