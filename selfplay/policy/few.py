"""Drawing the actions of a few rows: with so little arithmetic, what costs is the number of operations."""

from __future__ import annotations

import math
from typing import Final

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FEW: Final = 8  # rows; beyond that whole tensors are faster, or nearly


def draw(binary: int, sizes: tuple[int, ...], logits: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """What ``heads.sample`` draws for rows of which everything is legal, but for rounding.

    Args:
        binary: Buttons.
        sizes: Classes of each categorical.
        logits: Float32 [N, L], on the processor.
        uniform: Float32 [N, W] in [0, 1).

    Returns:
        Actions int8 [N, W] and the logarithm of their probability, float32 [N].
    """
    actions = np.empty((len(logits), binary + len(sizes)), np.int8)
    logprob = np.empty(len(logits), np.float32)
    _draw(logits.numpy(), uniform.numpy(), binary, np.array(sizes, np.int64), actions, logprob)
    return torch.from_numpy(actions), torch.from_numpy(logprob)


@numba.njit(cache=True, nogil=True)
def _draw(
    logits: NDArray[np.float32],
    uniform: NDArray[np.float32],
    binary: int,
    sizes: NDArray[np.int64],
    actions: NDArray[np.int8],
    logprob: NDArray[np.float32],
) -> None:
    for n in range(len(logits)):
        total = 0.0
        for i in range(binary):
            z = float(logits[n, i])
            small = math.exp(-abs(z))
            pressed = uniform[n, i] < (1.0 / (1.0 + small) if z >= 0.0 else small / (1.0 + small))
            actions[n, i] = pressed
            total += (z if pressed else 0.0) - (max(z, 0.0) + math.log1p(small))
        first = binary
        for head in range(len(sizes)):
            size, point = sizes[head], uniform[n, binary + head]
            top = -math.inf
            for k in range(size):
                top = max(top, float(logits[n, first + k]))
            mass = 0.0
            for k in range(size):
                mass += math.exp(float(logits[n, first + k]) - top)
            chosen, below = size - 1, 0.0
            for k in range(size):  # inverse of the cumulative distribution
                below += math.exp(float(logits[n, first + k]) - top) / mass
                if below >= point:
                    chosen = k
                    break
            actions[n, binary + head] = chosen
            total += float(logits[n, first + chosen]) - top - math.log(mass)
            first += size
        logprob[n] = total
