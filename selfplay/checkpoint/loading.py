"""``load_checkpoint``: reads a policy folder without building a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.checkpoint.generations import load_generation
from selfplay.checkpoint.policies import resolve_policy

if TYPE_CHECKING:
    from selfplay.checkpoint.documents import JsonObject
    from selfplay.checkpoint.schema import NetworkSpec, PolicyMeta
    from selfplay.checkpoint.tensors import Array


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Parameters by name, network structure, position in training, and configuration of a policy."""

    params: dict[str, Array]
    model: NetworkSpec
    iteration: int
    total_steps: int
    config: JsonObject
    meta: PolicyMeta
    path: Path


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read and verify a policy folder, or the newest generation of a run. No code is executed.

    Raises:
        NotARunError, ConfigError: no policy at this path, or a file of the predecessor.
        CorruptError, IncompatibleError: a damaged file, or one of another format.
    """
    folder = resolve_policy(Path(path))
    meta, params = load_generation(folder)
    return Checkpoint(params, meta.network, meta.iteration, meta.total_steps, meta.config, meta, folder)
