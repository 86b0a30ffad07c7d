"""A bias and an activation in single precision, compiled for the CPU: one pass in place of three.

torch takes the hyperbolic tangent from a library of Intel's that is slow on other processors: 2.5 ns a number on an AMD
EPYC, an eighth of a training loop; here it takes 0.3 ns. Rows are independent of each other.

tanh x = x P(x^2) / Q(x^2) on [-TOP, TOP], constant beyond. The coefficients were fitted to the least relative error,
5e-9; with the rounding of single precision it is at most 6 units in the last place, and no result exceeds 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from torch import Tensor

from selfplay.compilation.compile import kernel

TOP: Final = np.float32(7.8)
P0, P1, P2 = np.float32(0.999999995), np.float32(0.13456701), np.float32(3.5863458e-3)
P3, P4 = np.float32(2.21517601e-5), np.float32(1.56273035e-8)
Q1, Q2 = np.float32(0.467900297), np.float32(2.62198529e-2)
Q3, Q4 = np.float32(3.43596554e-4), np.float32(8.6753915e-7)
ZERO, ONE = np.float32(0.0), np.float32(1.0)


def tanh_(x: Tensor, bias: Tensor) -> Tensor:
    """tanh(x + bias) in place; float32 on the CPU, [N, W] and [W], or K of these, [K, N, W] and [K, W]."""
    _tanh(*_arrays(x, bias))
    return x


def relu_(x: Tensor, bias: Tensor) -> Tensor:
    """max(x + bias, 0) in place; arguments as of ``tanh_``."""
    _relu(*_arrays(x, bias))
    return x


WITH_BIAS: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {"tanh": tanh_, "relu": relu_}
"""By the name of the activation."""


def usable(x: Tensor) -> bool:
    """Return True if functions of ``WITH_BIAS`` can take the product of ``x`` [N, D] with weights.

    They keep no gradient, and a tensor of a subclass holds no numbers while torch traces a program.
    """
    here = type(x) is Tensor and x.is_cpu and x.dtype == torch.float32 and x.dim() == 2
    return here and not torch.is_grad_enabled()


def _arrays(x: Tensor, bias: Tensor) -> tuple[object, object]:
    array, added = x.numpy(), bias.detach().numpy()
    return (array, added) if array.ndim == 3 else (array[None], added[None])


@kernel
def _tanh(x, bias):
    for k in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y = x[k, i, j] + bias[k, j]
                y = TOP if y > TOP else y
                y = -TOP if y < -TOP else y
                s = y * y
                p = (((P4 * s + P3) * s + P2) * s + P1) * s + P0
                q = (((Q4 * s + Q3) * s + Q2) * s + Q1) * s + ONE
                x[k, i, j] = p * y / q


@kernel
def _relu(x, bias):
    for k in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y = x[k, i, j] + bias[k, j]
                x[k, i, j] = ZERO if y < ZERO else y
