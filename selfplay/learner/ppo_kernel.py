"""The gradients of the terms of ``ppo`` in one compiled pass over the decisions: their translation, not definition.

A test holds both equal. Distributions and their gradient are those of ``policy.compiled_heads``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.policy import compiled_heads

if TYPE_CHECKING:
    from torch import Tensor

    from selfplay.learner.batch import Batch
    from selfplay.learner.ppo import PPOSettings
    from selfplay.policy.heads import Heads
    from selfplay.rollout.buffers import Workspace

F32 = NDArray[np.float32]


class Decisions(NamedTuple):
    """Recorded values that enter the loss, each [N]; see ``Batch``."""

    logprob: F32
    value: F32
    advantage: F32
    target: F32


class Coefficients(NamedTuple):
    """Coefficients of the loss, see ``PPOSettings``."""

    clip: float
    value_clip: float
    value: float


def compiled_gradient(
    heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings, workspace: Workspace
) -> tuple[Tensor, dict[str, Tensor]]:
    """Gradient of the weighted sum of the surrogate terms with respect to the outputs [N, L + 1], and these terms.

    Arguments as in ``ppo.loss_gradient``; the outputs are on the CPU in single precision.
    """
    outputs, actions = out.numpy(), batch.action.numpy()
    logits, sums = outputs[:, :-1], np.zeros(5)
    grad = workspace.array("loss gradient", outputs.shape, np.float32)
    old = Decisions(batch.logprob.numpy(), batch.value.numpy(), batch.advantage.numpy(), batch.target.numpy())
    coefficients = Coefficients(settings.clip, settings.value_clip, settings.value_coefficient)
    found = compiled_heads.distributions(heads.layout, logits, actions, workspace)
    along = np.empty(len(outputs), np.float32)
    _surrogate(found.logprob, found.entropy, outputs[:, -1], old, coefficients, along, grad[:, -1], sums)
    compiled_heads.gradient(heads.layout, logits, actions, found, along, -settings.entropy_coefficient, grad)
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    return torch.from_numpy(grad), dict(zip(names, torch.from_numpy(sums).float(), strict=True))


def add_reference_gradient(
    heads: Heads, out: Tensor, reference: Tensor, names: tuple[str, str], settings: PPOSettings, grad: Tensor
) -> dict[str, Tensor]:
    """Add the gradient of weighted ``ppo.reference_terms`` to ``grad`` [N, L + 1]; these terms.

    The outputs [N, L + 1] are on the CPU in single precision; ``names`` are of the two divergences from and to the
    ``reference`` logits [N, L], empty for what is no term.
    """
    forward, reverse = (float(getattr(settings, name)) if name else 0.0 for name in names)
    sums = compiled_heads.add_divergences(
        heads.layout, out.numpy()[:, :-1], reference.numpy(), (forward, reverse), grad.numpy()[:, :-1]
    )
    return {name: total for name, total in zip(names, torch.from_numpy(sums).float(), strict=True) if name}


@compiled_heads.kernel
def _surrogate(logprob, entropy, value, old, coefficients, along_logprob, along_value, sums):
    """Fill the gradients with respect to log-probability and value [N], and add to the sums of the five terms.

    d policy / d log pi = -ratio A where the unclipped term is the smaller, else 0; d value / d V = V - R where the
    unclipped square is the larger, else 0. Comparisons let NaN through, so that a gradient shows it.
    """
    clip, value_clip, value_coefficient = coefficients
    for i in range(len(value)):
        log_ratio = logprob[i] - old.logprob[i]
        ratio = math.exp(log_ratio)
        gain, along_logprob[i] = ratio * old.advantage[i], -ratio * old.advantage[i]
        if abs(ratio - 1.0) > clip:  # within it both terms are the same, but for rounding
            sums[4] += 1.0
            held = (1.0 + math.copysign(clip, ratio - 1.0)) * old.advantage[i]
            if gain > held:
                gain, along_logprob[i] = held, 0.0
        sums[0] -= gain
        error, moved = value[i] - old.target[i], value[i] - old.value[i]
        squared, along_value[i] = error * error, value_coefficient * error
        if abs(moved) > value_clip:  # within it both squares are the same, but for rounding
            near = old.value[i] + math.copysign(value_clip, moved) - old.target[i]
            if squared < near * near:
                squared, along_value[i] = near * near, 0.0
        sums[1] += 0.5 * squared
        sums[2] += entropy[i]
        sums[3] += ratio - 1.0 - log_ratio
