"""The step of the optimizer that all learners share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from selfplay.learner.adam import Adam


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
    """Clip the gradients of the trainable parameters by their norm and apply them, unless the norm is not finite.

    Returns:
        The norm before clipping. The gradients are changed in place.
    """
    optimizer.zero_grad()
    for parameter, gradient in zip(trainable, gradients, strict=True):
        parameter.grad = gradient
    norm = nn.utils.clip_grad_norm_(trainable, max_grad_norm)
    if bool(torch.isfinite(norm)):
        optimizer.step()
    return norm
