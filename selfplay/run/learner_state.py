"""The learner's weights and optimizer as named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.checkpoint import group
from selfplay.errors import IncompatibleError, LearnerError, boundary
from selfplay.policy.policy import parameters_of, set_parameters

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from selfplay.learner.optimizers import Adam

Arrays = dict[str, NDArray[Any]]


class Optimised(Protocol):
    """A network and its optimizer."""

    @property
    def network(self) -> nn.Module: ...

    @property
    def optimizer(self) -> Adam | Optimizer: ...


def check_finite(network: nn.Module) -> None:
    """Refuse to save weights that are not finite: the learner fails, and the next one continues from the last state."""
    for name, parameter in network.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise LearnerError(f"{name} of the network is not finite; nothing of it is saved")


def learner_arrays(learner: Optimised, generator: torch.Generator) -> Arrays:
    """Everything of the learner that the next update depends on."""
    check_finite(learner.network)
    arrays: Arrays = {f"params/{name}": array for name, array in parameters_of(learner.network, trainable=True).items()}
    for name, parameter in learner.network.named_parameters():
        for field, tensor in learner.optimizer.state.get(parameter, {}).items():
            arrays[f"optimizer/{name}/{field}"] = tensor.detach().cpu().numpy().copy()
    arrays["rng/learner"] = generator.get_state().numpy().copy()
    return arrays


def restore_learner(learner: Optimised, generator: torch.Generator, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put ``learner_arrays`` back; IncompatibleError for those of a learner of another structure."""
    set_parameters(learner.network, group(arrays, "params"))
    learner.optimizer.state.clear()
    fused = bool(learner.optimizer.defaults["fused"])
    with boundary(IncompatibleError, "the optimizer's state does not fit the network"):
        for name, parameter in learner.network.named_parameters():
            state = group(arrays, f"optimizer/{name}")
            if state:
                learner.optimizer.state[parameter] = {
                    # moments live with the parameter; so does a fused Adam's count of steps, another's on the CPU
                    field: torch.from_numpy(np.array(array)).to(
                        "cpu" if field == "step" and not fused else parameter.device
                    )
                    for field, array in state.items()
                }
        generator.set_state(torch.from_numpy(np.array(arrays["rng/learner"])))
