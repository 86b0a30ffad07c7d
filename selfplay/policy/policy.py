"""A policy that plays: a network with everything that its policy file says about it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from selfplay.checkpoint import PolicyMeta, load_generation, resolve_policy
from selfplay.errors import IncompatibleError, boundary
from selfplay.games.registry import find_game
from selfplay.policy.heads import masked, probabilities, sample
from selfplay.policy.network import ActorCritic, build_network, check_weights
from selfplay.policy.played_game import body_of, game_of
from selfplay.policy.recurrent_state import RecurrentState, Rows

if TYPE_CHECKING:
    from selfplay.games.api import Actions
    from selfplay.games.rated import Body


@dataclass(frozen=True, slots=True)
class Policy:
    """Plays at the frame skip and delay of its ``body`` (errors as of ``body_of``). Weights are never written to."""

    meta: PolicyMeta
    network: ActorCritic
    body: Body = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", body_of(self.meta))

    def act(
        self,
        obs: NDArray[np.float32],
        generator: torch.Generator | None = None,
        legal: NDArray[np.bool_] | None = None,
        *,
        greedy: bool = False,
        uniform: NDArray[np.float32] | None = None,
        memory: RecurrentState | None = None,
        rows: Rows = slice(None),
    ) -> Actions:
        """Actions [N, A] for observations float [N, D]; drawn from the policy unless greedy.

        ``legal``, bool [N, logits], says what may be chosen, in games that have such a mask. ``uniform`` [N, A] in
        [0, 1) takes the place of the generator's numbers. A policy that remembers needs the ``memory`` of the seats
        ``rows``, which goes on by one decision.
        """
        with torch.inference_mode():
            logits, _ = self._decide(obs, memory, rows)
            heads = self.network.heads
            mask = None if legal is None else _tensor("legal", legal, np.bool_, (len(obs), heads.logits))
            luck = None if uniform is None else _tensor("uniform", uniform, np.float32, (len(obs), heads.width))
            drawn, _ = sample(self.network.heads, logits, generator, mask, greedy=greedy, uniform=luck)
            return drawn.numpy()

    def probabilities(self, obs: NDArray[np.float32], legal: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Probability of each button and of each class, [N, logits], of a policy without memory."""
        with torch.inference_mode():
            logits, _ = self._decide(obs)
            heads = self.network.heads
            mask = None if legal is None else _tensor("legal", legal, np.bool_, (len(obs), heads.logits))
            logits = masked(logits, mask)
            return probabilities(self.network.heads, logits).numpy()

    def value(
        self, obs: NDArray[np.float32], memory: RecurrentState | None = None, rows: Rows = slice(None)
    ) -> NDArray[np.float32]:
        """The discounted reward to come, [N], as the network estimates it for observations [N, D]; see ``act``."""
        with torch.inference_mode():
            return self._decide(obs, memory, rows)[1].numpy()

    def _decide(
        self, obs: NDArray[np.float32], memory: RecurrentState | None = None, rows: Rows = slice(None)
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if memory is None:
            if self.network.memory_width:
                raise ValueError(f"{self.meta.id} remembers ({self.network.spec.kind}): give it a memory")
            memory = RecurrentState(0)
        return memory.step(self.network, _tensor("obs", obs, np.float32, (None, self.network.spec.obs_width)), rows)


def _tensor(name: str, array: object, dtype: type[np.generic], shape: tuple[int | None, int]) -> torch.Tensor:
    """An array of a caller as a tensor, or ValueError; ``shape`` has None where any length will do."""
    rows, width = shape
    if isinstance(array, np.ndarray):
        fits = array.ndim == 2 and array.shape[1] == width and rows in (None, len(array))
        if fits and array.dtype == dtype:
            return torch.from_numpy(array)
        got = f"{array.dtype} of shape {array.shape}"
    else:
        got = type(array).__name__
    raise ValueError(f"{name} must be {np.dtype(dtype)} of shape [{'N' if rows is None else rows}, {width}], got {got}")


def parameters_of(network: nn.Module, *, trainable: bool = False) -> dict[str, NDArray[np.generic]]:
    """Copies of the parameters by name: all, or the trainable ones."""
    frozen = _frozen(network) if trainable else ()
    return {
        name: tensor.detach().cpu().numpy().copy()
        for name, tensor in network.state_dict().items()
        if name not in frozen
    }


def set_parameters(network: nn.Module, params: dict[str, NDArray[np.generic]]) -> None:
    """Write parameters into a network; frozen ones may be missing. IncompatibleError if a name or a shape differs."""
    with boundary(IncompatibleError, "the weights do not fit the network that the policy file describes"):
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in params.items()}
        frozen = {name: tensor for name, tensor in network.state_dict().items() if name in _frozen(network)}
        network.load_state_dict(frozen | tensors)


def _frozen(network: nn.Module) -> frozenset[str]:
    """Names of parameters that are not trained, such as those of a model below its adapter."""
    # One parameter may have two names, as ends of a language model that share an embedding; the state has both.
    named = network.named_parameters(remove_duplicate=False)
    return frozenset(name for name, parameter in named if not parameter.requires_grad)


def frozen_copy(network: ActorCritic) -> ActorCritic:
    """A snapshot that the learner's next step does not change."""
    twin = copy.deepcopy(network)
    twin.requires_grad_(requires_grad=False)
    return twin.eval()


def load_policy(path: str | Path, device: str = "cpu") -> Policy:
    """The policy in a folder: a generation, what imitation exports, or a run.

    Of a run it is the generation that passed its gate, or without a gate the newest; of a folder that imitation
    exports to, the best. CheckpointError if nothing is there, or it is damaged or made for another version.
    """
    folder = resolve_policy(Path(path))
    meta, params = load_generation(folder)
    here = find_game(game_of(meta)).encoder_version
    if meta.encoder_version != here:
        raise IncompatibleError(f"{folder} was made for observations of version {meta.encoder_version}, here is {here}")
    try:
        check_weights(meta.network, meta.actions, {name: array.shape for name, array in params.items()})
    except IncompatibleError as error:
        raise IncompatibleError(f"{folder}: {error}") from error
    network = build_network(meta.network, meta.actions)
    set_parameters(network, params)
    network.requires_grad_(requires_grad=False)
    return Policy(meta, network.eval().to(device))
