"""Latency of one decision of one player, for each backbone."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Final

import torch

from selfplay.checkpoint import ActionHeads
from selfplay.config.ppo import NetConfig
from selfplay.policy.network import KINDS, build_network
from selfplay.seeding import derive
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.observation import OBS_WIDTH

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

DECISIONS: Final = 300


def latencies(decisions: int = DECISIONS) -> dict[str, float]:
    """``latency_<kind>_ms`` of every backbone at its default sizes: the median of so many decisions.

    One player, one torch thread, the network alone, without observations and sampling. Each network has played
    long enough before that its memory is full.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {f"latency_{kind}_ms": 1e3 * _seconds(_network(kind), decisions) for kind in KINDS}
    finally:
        torch.set_num_threads(threads)


def _network(kind: str) -> ActorCritic:
    spec = NetConfig.model_validate({"backbone": kind}).spec(OBS_WIDTH)
    heads = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)
    return build_network(spec, heads, torch.Generator().manual_seed(derive(0, "latency", kind))).eval()


def _seconds(network: ActorCritic, decisions: int) -> float:
    """Median of a decision."""
    warm_up = 2 * NetConfig().window
    observations = torch.randn(warm_up + decisions, 1, OBS_WIDTH)
    samples = []
    with torch.inference_mode():
        memory = network.first_memory(1)
        for obs in observations:
            started = time.perf_counter()
            _, _, memory = network.step(obs, memory)
            samples.append(time.perf_counter() - started)
    return median(samples[warm_up:])
