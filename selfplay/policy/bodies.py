"""Networks of the user's own: what stands between the observations and the layer of logits and value.

``module:name`` is called with the width of the observations and gives a module that maps float [N, obs_width] to
float [N, width]. It has no memory, and must give the same outputs in play as in training: no dropout, no batch
normalization. Several threads may call it at once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from envs.plugins import load
from selfplay.errors import ConfigError, boundary

_ROWS = 2  # of the observations that it is tried with


def make_body(name: str, obs_width: int, seed: int = 0) -> tuple[nn.Module, int]:
    """A network of the user's own, and its width. Its first weights follow from the seed.

    Raises:
        ConfigError: it is not allowed to be imported, cannot be made, or cannot be trained.
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
