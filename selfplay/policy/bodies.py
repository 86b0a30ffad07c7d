"""Networks of the user's own: what stands between the observations and the layer of logits and value.

``module:name`` is called with the width of the observations and gives a module that maps float [N, obs_width] to
float [N, width]. It has no memory, and must give the same outputs in play as in training: no dropout, no batch
normalization. Several threads may call it at once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from envs.errors import GameError
from envs.plugins import load
from selfplay.errors import ConfigError, boundary

_ROWS = 2  # of the observations that it is tried with


def make_body(name: str, obs_width: int, seed: int = 0) -> tuple[nn.Module, int]:
    """A network of the user's own, and its width. Its first weights follow from the seed.

    Raises:
        ConfigError: it is not allowed to be imported, cannot be made, or cannot be trained.
    """
    flag = "--backbone"
    try:
        make: Any = load(name, flag)
    except GameError as error:
        raise ConfigError(str(error)) from error
    with (
        torch.device("cpu"),  # on the meta device, where weights are only counted, code of others may not run
        torch.inference_mode(mode=False),
        torch.random.fork_rng(devices=[]),
        boundary(ConfigError, f"{flag} {name}: it failed with obs_width={obs_width}"),
    ):
        torch.default_generator.manual_seed(seed)
        body = make(obs_width)
        if not isinstance(body, nn.Module):
            raise ConfigError(f"{flag} {name}: it made {type(body).__name__}; a torch.nn.Module is needed")
        out = body(torch.zeros(_ROWS, obs_width))
        if not isinstance(out, Tensor) or out.dtype != torch.float32 or out.dim() != 2 or len(out) != _ROWS:
            got = f"{out.dtype} {list(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            raise ConfigError(
                f"{flag} {name}: it made {got} of observations [{_ROWS}, {obs_width}]; "
                f"torch.float32 [{_ROWS}, width] is needed"
            )
        _refuse_untrainable(body, out, f"{flag} {name}")
    return body, out.shape[1]


def _refuse_untrainable(body: nn.Module, out: Tensor, where: str) -> None:
    named = dict(body.named_parameters())
    free = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    found = torch.autograd.grad(out.sum(), list(free.values()), allow_unused=True) if free else ()
    used = {name for name, gradient in zip(free, found, strict=True) if gradient is not None}
    if unused := [name for name in named if name not in used]:
        raise ConfigError(f"{where}: its outputs have no gradient for {unused[0]}; every parameter is trained")
