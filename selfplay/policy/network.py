"""The one builder of networks: a specification in, an actor-critic out."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn

from selfplay.errors import IncompatibleError
from selfplay.policy.heads import Heads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.checkpoint.schema import ActionHeads, NetworkSpec

ACTIVATIONS: Final[dict[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU}
KINDS: Final = ("mlp",)
FIRST_PRESS: Final = -2.0  # logit of a button at the start: pressed 12% of the time
FIRST_REST: Final = 0.8  # probability of the class that means hands off, at the start


class ActorCritic(nn.Module):
    """A shared trunk, all action heads as slices of one linear layer, and the value beside them."""

    def __init__(self, spec: NetworkSpec, actions: ActionHeads) -> None:
        super().__init__()
        self.spec = spec
        self.heads = Heads(actions.binary, actions.sizes)
        widths = (spec.obs_width, *spec.hidden)
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise(widths):
            layers += [nn.Linear(fan_in, fan_out), ACTIVATIONS[spec.activation]()]
        self.trunk = nn.Sequential(*layers)
        self.out = nn.Linear(widths[-1], self.heads.logits + 1)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Observations [N, D] to logits [N, L] and values [N]."""
        out = self.out(self.trunk(obs))
        return out[:, :-1], out[:, -1]


def build_network(
    spec: NetworkSpec,
    actions: ActionHeads,
    generator: torch.Generator | None = None,
    rest: Sequence[int] = (),
    first_rest: float = FIRST_REST,
) -> ActorCritic:
    """A fresh network: orthogonal weights, and a policy that presses little and is nearly uniform otherwise.

    Random play that mashes everything on every frame explores little: each press interrupts the one before. Where
    ``rest`` names a class of a categorical (-1: none), a fresh policy gives it the probability ``first_rest``.

    Raises:
        IncompatibleError: a kind or an activation that this version does not know.
    """
    if spec.kind not in KINDS or spec.activation not in ACTIVATIONS:
        raise IncompatibleError(
            f"network {spec.kind!r} with activation {spec.activation!r} is unknown "
            f"(valid: {', '.join(KINDS)}; {', '.join(ACTIVATIONS)})"
        )
    network = ActorCritic(spec, actions)
    for module in network.trunk:
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight, math.sqrt(2.0), generator=generator)
            nn.init.zeros_(module.bias)
    with torch.no_grad():
        nn.init.orthogonal_(network.out.weight, 1.0, generator=generator)
        network.out.weight[:-1] *= 0.01
        nn.init.zeros_(network.out.bias)
        network.out.bias[: actions.binary] = FIRST_PRESS
        first = actions.binary
        for size, index in zip(actions.sizes, rest, strict=False):
            if index >= 0:  # e^b / (e^b + size - 1) = first_rest
                network.out.bias[first + index] = math.log(first_rest / (1 - first_rest) * (size - 1))
            first += size
    return network
