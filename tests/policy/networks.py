"""Small networks for tests, of the shapes of ``tests.support.fakes.CountingGame``."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta
from selfplay.policy.network import ActorCritic, build_network
from selfplay_melee.observation import ENCODER_VERSION
from tests.support.fight_policies import meta_fields

SPEC = NetworkSpec(obs_width=4, hidden=(8, 8))
HEADS = ActionHeads(binary=2, sizes=(3, 3, 2))


def network(
    seed: int = 0, *, spec: NetworkSpec = SPEC, heads: ActionHeads = HEADS, spread: float = 50.0
) -> ActorCritic:
    """A seeded network with opinions of its own: the nearly uniform start, ``spread`` times as decided."""
    built = build_network(spec, heads, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        built.out.weight[:-1] *= spread
    return built


def stubborn(action: Sequence[int], *, heads: ActionHeads = HEADS) -> ActorCritic:
    """A network that always plays this action, whatever it sees."""
    built = build_network(SPEC, heads, torch.Generator().manual_seed(0))
    with torch.no_grad():
        built.out.weight[:-1] = 0.0
        built.out.bias[:-1] = -100.0
        first = heads.binary
        for i, choice in enumerate(action):
            if i < heads.binary:
                built.out.bias[i] = 100.0 if choice else -100.0
            else:
                built.out.bias[first + choice] = 100.0
                first += heads.sizes[i - heads.binary]
    return built


def policy_meta(iteration: int = 0, **changes: Any) -> PolicyMeta:
    fields = {
        "id": f"gen_{iteration}",
        "iteration": iteration,
        "network": SPEC,
        "actions": HEADS,
        "encoder_version": ENCODER_VERSION,
        "delay": 2,
        "created": datetime(2026, 1, 2, tzinfo=UTC),
    }
    return PolicyMeta(**meta_fields(**(fields | changes)))
