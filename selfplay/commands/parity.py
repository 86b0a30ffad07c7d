"""Compares a network with its copy in another format, on observations of games."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from envs.compilation import compile_rules
from envs.melee import bots
from envs.melee.mock import MockMelee, neutral_actions
from envs.registry import find_game
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.policy.formats import Decide
    from selfplay.policy.network import ActorCritic

PLAYERS: Final = (("edge_guarder", "rusher"), ("random", "counter_hitter"))  # of each game
EPISODES: Final = 3  # minimum of each game, if there are enough steps


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of the seats of some games, decision by decision."""

    obs: Tensor  # float [T, N, D]
    fresh: Tensor  # bool [T, N] an episode begins, and memory with it


def seen_in_games(meta: PolicyMeta, observations: int) -> Seen:
    """At least ``observations`` of scripted players, with the policy's characters, stage, frame skip and delay."""
    compile_rules(find_game("mock"))
    rows = 2 * len(PLAYERS)
    steps = -(-observations // rows)
    game = MockMelee(
        len(PLAYERS),
        characters=(meta.characters[0], meta.characters[-1]),
        stage=meta.stage,
        frame_skip=meta.frame_skip,
        delay=meta.delay,
        max_episode_frames=max(1, steps // EPISODES) * meta.frame_skip,
    )
    game.bot_skip = bots.FRAME_SKIP
    game.bots[:] = [[bots.NAMES.index(name) for name in pair] for pair in PLAYERS]
    obs = game.reset(np.array([derive(0, "export", g) for g in range(len(PLAYERS))], np.uint64))
    ended = np.ones(len(PLAYERS), np.bool_)
    actions = neutral_actions(len(PLAYERS))
    seen = np.empty((steps, rows, game.obs_width), np.float32)
    fresh = np.empty((steps, rows), np.bool_)
    for t in range(steps):
        seen[t], fresh[t] = obs.reshape(rows, -1), ended.repeat(2)
        batch = game.step(actions)
        obs, ended = batch.obs, batch.ended
    return Seen(torch.from_numpy(seen), torch.from_numpy(fresh))


def largest_difference(network: ActorCritic, decide: Decide, seen: Seen) -> float:
    """Largest difference between their outputs: logits, values and memory.

    Each keeps its own memory over an episode, so that differences may add up. The result is infinite if an output
    is not finite or has another shape.
    """
    largest = 0.0
    with torch.inference_mode():
        ours = theirs = network.first_memory(seen.obs.shape[1])
        for obs, fresh in zip(seen.obs, seen.fresh, strict=True):
            *outputs, ours = network.step(obs, ours.masked_fill(fresh[:, None], 0.0))
            *copies, theirs = decide(obs, theirs.masked_fill(fresh[:, None], 0.0))
            for a, b in zip((*outputs, ours), (*copies, theirs), strict=True):
                if a.shape != b.shape:
                    return math.inf
                apart = float((a - b).abs().max()) if a.numel() else 0.0
                largest = max(largest, apart) if math.isfinite(apart) else math.inf
    return largest
