"""A policy as data for ``policy.js``: a description in JSON, and all weights as one array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.errors import ConfigError
from selfplay.policy.policy import parameters_of

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.policy.policy import Policy

SCRIPTS: Final = ("uniforms.js", "heads.js", "network.js", "policy.js")
"""The modules of this folder, each after those that it imports."""
PLAYED: Final = ("mlp", "gru", "lstm")
"""The backbones that the modules play."""


@dataclass(frozen=True, slots=True)
class BrowserPolicy:
    """Arguments of the constructor of ``Policy`` in ``policy.js``."""

    description: dict[str, Any]
    weights: bytes  # little-endian float32: those of each layer, in order


def browser_policy(policy: Policy) -> BrowserPolicy:
    """Description and weights of a policy; ConfigError if its backbone is not one of ``PLAYED``."""
    meta, network = policy.meta, policy.network
    if network.spec.kind not in PLAYED:
        raise ConfigError(
            f"{meta.id} is a policy of kind {network.spec.kind}, which plays in a browser only through a server; "
            f"without one a page plays {', '.join(PLAYED)}"
        )
    description = policy_description(policy) | {"layers": list(_layers(network))}
    weights = np.concatenate([array.ravel() for array in parameters_of(network).values()])
    return BrowserPolicy(description, weights.astype("<f4").tobytes())


def policy_description(policy: Policy) -> dict[str, Any]:
    """Description of a policy that a server plays, for a page; that of ``browser_policy`` without the layers."""
    meta, network = policy.meta, policy.network
    return {
        "id": meta.id,
        "weights_hash": meta.weights_hash,
        "encoder_version": meta.encoder_version,
        "obs_width": network.spec.obs_width,
        "frame_skip": policy.body.frame_skip,
        "heads": {"binary": network.heads.binary, "sizes": network.heads.sizes},
    }


def _layers(network: ActorCritic) -> Iterator[dict[str, str | int]]:
    """The layers in the order of their parameters, as ``network.js`` reads them."""
    spec = network.spec
    dense = len(spec.hidden) - len(network.memory)
    for inputs, outputs in pairwise((spec.obs_width, *spec.hidden[:dense])):
        yield {"kind": "dense", "inputs": inputs, "outputs": outputs, "activation": spec.activation}
    for width in spec.hidden[dense:]:
        yield {"kind": spec.kind, "width": width}
    out = network.out
    yield {"kind": "dense", "inputs": out.in_features, "outputs": out.out_features, "activation": "none"}
