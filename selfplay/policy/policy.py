"""A policy that plays: a network with everything that its policy file says about it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from envs.melee.observation import ENCODER_VERSION
from selfplay.checkpoint import PolicyMeta, load_generation, resolve_policy
from selfplay.errors import IncompatibleError, boundary
from selfplay.policy.heads import sample
from selfplay.policy.network import ActorCritic, build_network


@dataclass(frozen=True, slots=True)
class Policy:
    """Plays at the frame skip and delay that ``meta`` names. Weights are never written to."""

    meta: PolicyMeta
    network: ActorCritic

    def act(
        self,
        obs: NDArray[np.float32],
        generator: torch.Generator | None = None,
        *,
        greedy: bool = False,
        uniform: NDArray[np.float32] | None = None,
    ) -> NDArray[np.int8]:
        """Actions int8 [N, A] for observations float [N, D]; drawn from the policy unless greedy.

        ``uniform`` [N, A] in [0, 1) takes the place of the generator's numbers.
        """
        with torch.inference_mode():
            device = self.network.out.weight.device
            logits, _ = self.network(torch.from_numpy(obs).to(device))
            luck = None if uniform is None else torch.from_numpy(uniform)
            drawn, _ = sample(self.network.heads, logits.cpu(), generator, greedy=greedy, uniform=luck)
            actions: NDArray[np.int8] = drawn.numpy()
            return actions

    def value(self, obs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The discounted reward to come, [N], as the network estimates it for observations float [N, D]."""
        with torch.inference_mode():
            _, values = self.network(torch.from_numpy(obs).to(self.network.out.weight.device))
            estimates: NDArray[np.float32] = values.cpu().numpy()
            return estimates


def parameters_of(network: ActorCritic) -> dict[str, NDArray[np.generic]]:
    """Copies of all parameters by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def set_parameters(network: ActorCritic, params: dict[str, NDArray[np.generic]]) -> None:
    """Write parameters into a network.

    Raises:
        IncompatibleError: a name or a shape differs.
    """
    with boundary(IncompatibleError, "the weights do not fit the network that the policy file describes"):
        network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in params.items()})


def frozen_copy(network: ActorCritic) -> ActorCritic:
    """A snapshot that the learner's next step does not change."""
    twin = copy.deepcopy(network)
    twin.requires_grad_(requires_grad=False)
    return twin.eval()


def load_policy(path: str | Path, device: str = "cpu") -> Policy:
    """The policy in a folder: a generation, what imitation exports, or a run.

    Of a run it is the generation that passed its gate, or without a gate the newest.

    Raises:
        CheckpointError: nothing there, damaged, or made for another version; says which.
    """
    folder = resolve_policy(Path(path))
    meta, params = load_generation(folder)
    if meta.encoder_version != ENCODER_VERSION:
        raise IncompatibleError(
            f"{folder} was made for observations of version {meta.encoder_version}, here is {ENCODER_VERSION}"
        )
    network = build_network(meta.network, meta.actions)
    set_parameters(network, params)
    network.requires_grad_(requires_grad=False)
    return Policy(meta, network.eval().to(device))
