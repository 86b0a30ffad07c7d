"""Exports a policy as a file for other programs, after a check that it gives the same outputs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from selfplay.checkpoint.store import write_file
from selfplay.config.resume import trained_on
from selfplay.errors import CheckpointError, boundary
from selfplay.evaluation.named_players import check_export
from selfplay.games.registry import find_game, make_game
from selfplay.games.vector import RANDOM
from selfplay.policy.formats import FORMATS
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import load_policy
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.games.kind import GameKind
    from selfplay.policy.formats import Decide
    from selfplay.policy.network import ActorCritic
    from selfplay.policy.policy import Policy

TOLERANCE: Final = 1e-4  # of any number; what another order of the same sums makes is a hundredth of that
OBSERVATIONS: Final = 1000
GAMES: Final = 4  # of random players


@dataclass(frozen=True, slots=True)
class Export:
    """The written files, and their largest difference from the policy."""

    path: Path
    about: Path
    size: int  # bytes of the file
    observations: int
    difference: float


def export(path: str | Path, kind: str, out: Path, observations: int = OBSERVATIONS) -> Export:
    """Write a policy in another format, and beside it ``OUT.json``, which says what the tensors are.

    An older file is replaced. Before that the copy is compared with the policy at so many ``observations``.
    CheckpointError if there is no policy, or the copy differs by more than ``TOLERANCE``.
    """
    check_export(path, kind, out, observations)
    policy = load_policy(path)
    make, read = FORMATS[kind]
    about = described(policy)
    seen = seen_in_games(policy.meta, observations)
    with boundary(CheckpointError, f"{policy.meta.id} cannot be made a file of {kind}"):
        data = make(policy.network, about)
        difference = largest_difference(policy.network, read(data, policy.network.memory_width), seen)
    if difference > TOLERANCE:
        raise CheckpointError(
            f"{out} is not written: it would differ from {policy.meta.id} by {difference:.2g}, "
            f"more than {TOLERANCE:g}, on observations of games"
        )
    checked = {"observations": seen.count, "largest_difference": difference}
    beside = out.with_name(f"{out.name}.json")
    write_file(out, data)
    write_file(beside, (json.dumps(about | {"format": kind, "check": checked}, indent=1) + "\n").encode())
    return Export(out, beside, len(data), seen.count, difference)


def described(policy: Policy) -> dict[str, Any]:
    meta = policy.meta
    game = find_game(game_of(meta))
    return {
        "policy": meta.id,
        "weights_hash": meta.weights_hash,
        "game": game_of(meta),
        **meta.body,
        "encoder_version": meta.encoder_version,
        "obs_width": meta.network.obs_width,
        "network": meta.network.kind,
        "memory_width": policy.network.memory_width,
        "memory_at_start": "zeros" if policy.network.memory_width else "none",
        "logits": _layout(game),
    }


def _layout(game: GameKind) -> list[dict[str, str | int]]:
    """Which logits belong to which part of an action, in the order of the action's numbers."""
    names, first = game.part_names, game.actions.binary
    parts: list[dict[str, str | int]] = [
        {"name": name, "kind": "button", "first": i, "size": 1} for i, name in enumerate(names[:first])
    ]
    for name, size in zip(names[first:], game.actions.sizes, strict=True):
        parts.append({"name": name, "kind": "classes", "first": first, "size": size})
        first += size
    return parts


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of the seats of some games, decision by decision."""

    obs: Tensor  # float [T, N, D]
    fresh: Tensor  # bool [T, N] an episode begins, and memory with it
    count: int  # observations of seats that had a choice


def seen_in_games(meta: PolicyMeta, observations: int) -> Seen:
    """At least ``observations`` of the policy's game: of its own ``sample``, or of random players."""
    name = game_of(meta)
    if (sample := find_game(name).sample) is not None:
        game = sample(trained_on(meta).body, observations)
    else:
        game = make_game(name, num_games=GAMES)
        game.bots[:] = game.bot_names.index(RANDOM)
    obs = game.reset(np.array([derive(0, "export", g) for g in range(game.num_games)], np.uint64))
    ended = np.ones(game.num_games, np.bool_)
    nothing = np.zeros((game.num_games, 2, game.actions.width), game.actions.dtype)  # scripted players have all seats
    count, seen, fresh = 0, list[NDArray[np.float32]](), list[NDArray[np.bool_]]()
    while count < observations and len(seen) < observations:  # a step may leave no seat a choice
        seen.append(obs.reshape(2 * game.num_games, -1).copy())
        fresh.append(ended.repeat(2))
        count += 2 * game.num_games if game.legal is None else int(game.actions.choices(game.legal).sum())
        batch = game.step(nothing)
        obs, ended = batch.obs, batch.ended
    game.close()
    return Seen(torch.from_numpy(np.stack(seen)), torch.from_numpy(np.stack(fresh)), count)


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
