"""Exports a policy as a file for other programs, after a check that it gives the same outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from envs.registry import GameEntry, find_game
from selfplay.checkpoint.store import write_file
from selfplay.commands.export_request import check_request
from selfplay.commands.parity import largest_difference, seen_in_games
from selfplay.errors import CheckpointError, boundary
from selfplay.policy.formats import FORMATS
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import load_policy

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy

TOLERANCE: Final = 1e-4  # of any number; what another order of the same sums makes is a hundredth of that
OBSERVATIONS: Final = 1000


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

    Args:
        path: A policy folder or a run.
        kind: One of ``FORMATS``.
        out: File to write; an older one is replaced.
        observations: At how many the copy is compared with the policy before anything is written.

    Raises:
        ConfigError: a file that cannot be written, no observation, or packages that are missing.
        CheckpointError: no policy there, or a copy that differs by more than ``TOLERANCE``.
    """
    check_request(path, kind, out, observations)
    return write(load_policy(path), kind, out, observations)


def write(policy: Policy, kind: str, out: Path, observations: int) -> Export:
    """``export`` of a policy that is loaded.

    Raises:
        CheckpointError: see ``export``.
    """
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
    of_fights = ("characters", "stage", "frame_skip", "delay") if game.fighter else ()
    return {
        "policy": meta.id,
        "weights_hash": meta.weights_hash,
        "game": game_of(meta),
        **{name: getattr(meta, name) for name in of_fights},
        "encoder_version": meta.encoder_version,
        "obs_width": meta.network.obs_width,
        "network": meta.network.kind,
        "memory_width": policy.network.memory_width,
        "memory_at_start": "zeros" if policy.network.memory_width else "none",
        "logits": _layout(game),
    }


def _layout(game: GameEntry) -> list[dict[str, str | int]]:
    """Which logits belong to which part of an action, in the order of the action's numbers."""
    names, first = game.part_names, game.actions.binary
    parts: list[dict[str, str | int]] = [
        {"name": name, "kind": "button", "first": i, "size": 1} for i, name in enumerate(names[:first])
    ]
    for name, size in zip(names[first:], game.actions.sizes, strict=True):
        parts.append({"name": name, "kind": "classes", "first": first, "size": size})
        first += size
    return parts
