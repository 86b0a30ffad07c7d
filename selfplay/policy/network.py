"""The one builder of networks: a specification in, an actor-critic out. ``browser/network.js`` computes the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from torch import Tensor, nn

from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.games.plugins import is_code, load
from selfplay.policy.backbones import HEAD_WIDTH, LAYERS, OPTIONS
from selfplay.policy.compiled_activations import WITH_BIAS, usable
from selfplay.policy.heads import Heads

if TYPE_CHECKING:
    from selfplay.checkpoint.documents import ActionHeads, NetworkSpec
    from selfplay.policy.backbones import Remembering

ACTIVATIONS: Final[dict[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU}
KINDS: Final = ("mlp", *LAYERS)
MOST: Final = 4096  # decisions or numbers in an option of a backbone
FIRST_PRESS: Final = -2.0  # logit of a button at the start: pressed 12% of the time
FIRST_REST: Final = 0.8  # initial probability of the neutral class
_ROWS: Final = 2  # of the observations with which a network of the user's own is tried


class ActorCritic(nn.Module):
    """A shared trunk, all action heads as slices of one linear layer, and the value beside them.

    ``hidden`` of an "mlp" are its dense layers. Of the other backbones it is one dense layer and then a layer of the
    backbone for each further number; these are of one width, and remember ``memory_width`` numbers a player. A kind
    ``module:name`` is a trunk of the user's own; ``seed`` sets its first weights.
    """

    def __init__(self, spec: NetworkSpec, actions: ActionHeads, seed: int = 0) -> None:
        super().__init__()
        self.spec = spec
        self.heads = Heads(actions.binary, actions.sizes)
        dense = spec.hidden if spec.kind == "mlp" else spec.hidden[:1]
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise((spec.obs_width, *dense)):
            layers += [nn.Linear(fan_in, fan_out), ACTIVATIONS[spec.activation]()]
        width = spec.hidden[-1] if spec.hidden else spec.obs_width
        if is_code(spec.kind):
            body, width = make_body(spec.kind, spec.obs_width, seed)
            layers = [body]
        self.trunk = nn.Sequential(*layers)
        self._with_bias = None if is_code(spec.kind) else WITH_BIAS.get(spec.activation)
        self._linear = [layer for layer in layers if isinstance(layer, nn.Linear)]  # a list: they are the trunk's
        options: dict[str, Any] = dict(spec.options)
        self.memory = nn.ModuleList(LAYERS[spec.kind](width, **options) for width in spec.hidden[len(dense) :])
        self._widths = [layer.memory_width for layer in self._layers]
        self.memory_width = sum(self._widths)
        self.out = nn.Linear(width, self.heads.logits + 1)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Observations [N, D] to logits [N, L] and values [N], of a network without memory."""
        return self._read_out(self._dense(obs))

    def _dense(self, x: Tensor) -> Tensor:
        """The dense layers, called as functions: the way through a module's call takes as long as a small product."""
        if self._with_bias is not None and usable(x):
            for linear in self._linear:
                x = self._with_bias(torch.mm(x, linear.weight.t()), linear.bias)
            return x
        for layer in self.trunk:
            x = layer.forward(x)
        return x

    def step(self, obs: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One decision: observations [N, D] and memory [N, M] to logits, values and the memory after it."""
        x, after = self._dense(obs), []
        for layer, part in zip(self._layers, torch.split(memory, self._widths, 1), strict=True):
            x, part = layer.step(x, part)
            after.append(part)
        return *self._read_out(x), torch.cat(after, 1) if after else memory

    def unroll(self, obs: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """T decisions: observations [N, T, D], memory before the first [N, M], fresh [N, T].

        ``fresh`` says before which decisions an episode began, and memory with it. Gives logits [N, T, L], values
        [N, T] and the memory after the last; the same numbers as T times ``step``, but for rounding.
        """
        x, after = self._dense(obs), []
        for layer, part in zip(self._layers, torch.split(memory, self._widths, 1), strict=True):
            x, part = layer.unroll(x, part, fresh)
            after.append(part)
        return *self._read_out(x), torch.cat(after, 1) if after else memory

    def first_memory(self, rows: int) -> Tensor:
        """Recurrent state at the start of an episode, [rows, M]: zeros."""
        return torch.zeros(rows, self.memory_width, device=self.out.weight.device)

    def _read_out(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # split: one copy where gradients come back
        logits, value = torch.split(self.out.forward(x), [self.heads.logits, 1], -1)
        return logits, value.squeeze(-1)

    @property
    def _layers(self) -> Iterable[Remembering]:
        return cast("Iterable[Remembering]", self.memory)


def check_network(spec: NetworkSpec) -> None:
    """Refuse widths that do not fit the backbone, and networks of the user's own that cannot be trained."""
    if is_code(spec.kind):
        make_body(spec.kind, spec.obs_width)
        return
    try:
        check_spec(spec)
    except IncompatibleError as error:
        widths = ",".join(map(str, spec.hidden)) or "none"
        raise ConfigError(f"--backbone {spec.kind} with --hidden {widths}: {error}") from error


def make_body(name: str, obs_width: int, seed: int = 0) -> tuple[nn.Module, int]:
    """A network of the user's own between the observations and the layer of logits and value, and its width.

    ``module:name`` is called with the width of the observations and gives a module that maps float [N, obs_width] to
    float [N, width]. It has no memory, and must give the same outputs in play as in training: no dropout, no batch
    normalization. Several threads may call it at once. Its first weights follow from the seed.
    ConfigError if it is not allowed to be imported, cannot be made, or cannot be trained.
    """
    with (
        torch.device("cpu"),  # on the meta device, where weights are only counted, code of others may not run
        torch.inference_mode(mode=False),
        torch.random.fork_rng(devices=[]),
        boundary(ConfigError, f"--backbone {name}"),
    ):
        torch.default_generator.manual_seed(seed)
        body = load(name, "--backbone")(obs_width)
        if not isinstance(body, nn.Module):
            raise ConfigError(f"--backbone {name}: it made {type(body).__name__}; a torch.nn.Module is needed")
        out: Tensor = body(torch.zeros(_ROWS, obs_width))
        if out.dtype != torch.float32 or out.shape[:-1] != (_ROWS,):
            raise ConfigError(
                f"--backbone {name}: it made {out.dtype} {list(out.shape)} of observations [{_ROWS}, {obs_width}]; "
                f"torch.float32 [{_ROWS}, width] is needed"
            )
        if parameters := list(body.parameters()):
            torch.autograd.grad(out.sum(), parameters)  # fails where one cannot be trained
    return body, out.shape[-1]


def check_spec(spec: NetworkSpec) -> None:
    """Check that a network can be built. The user's own networks are checked when they are built."""
    if is_code(spec.kind):  # tried where it is made
        if spec.hidden or spec.options:
            raise IncompatibleError(f"network {spec.kind!r} makes its own layers; hidden and options must be empty")
        return
    if spec.kind not in KINDS or spec.activation not in ACTIVATIONS:
        raise IncompatibleError(
            f"network {spec.kind!r} with activation {spec.activation!r} is unknown "
            f"(valid: {', '.join(KINDS)}; {', '.join(ACTIVATIONS)})"
        )
    unknown = set(spec.options) - OPTIONS.get(spec.kind, frozenset())
    lowest = 2 if spec.kind == "attention" else 1  # a window of one has no memory
    if unknown or not all(isinstance(value, int) and lowest <= value <= MOST for value in spec.options.values()):
        raise IncompatibleError(f"network {spec.kind!r} cannot have the options {dict(spec.options)}")
    if spec.kind != "mlp" and not _fits(spec.hidden):
        raise IncompatibleError(
            f"{spec.kind} needs a dense layer and at least one of its own, all of one width that {HEAD_WIDTH} "
            f"divides or that is smaller (such as 128,128), not {','.join(map(str, spec.hidden)) or 'none'}"
        )


def check_weights(spec: NetworkSpec, actions: ActionHeads, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check the shapes of weights against a network. Allocates no memory for the network."""
    check_spec(spec)
    with boundary(IncompatibleError, "no network can be of the sizes that the policy file describes"):
        with torch.device("meta"):
            network = ActorCritic(spec, actions)
        wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    if wanted != shapes:
        name = min(name for name in wanted.keys() | shapes.keys() if wanted.get(name) != shapes.get(name))
        raise IncompatibleError(
            "the weights do not fit the network that the policy file describes: "
            f"{name} is {shapes.get(name)}, but {wanted.get(name)} is described"
        )


def _fits(hidden: Sequence[int]) -> bool:
    return len(hidden) > 1 and len(set(hidden)) == 1 and (hidden[0] < HEAD_WIDTH or hidden[0] % HEAD_WIDTH == 0)


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
    IncompatibleError for a kind, an activation, an option or widths that this version does not know.
    """
    check_spec(spec)
    network = ActorCritic(spec, actions, 0 if generator is None else generator.initial_seed())
    ours = () if is_code(spec.kind) else ((network.trunk, math.sqrt(2.0)), (network.memory, 1.0))
    for part, gain in ours:
        for module in part.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, gain, generator=generator)
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
