"""``load_checkpoint``: what a policy folder holds, as plain values; no network is built."""

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
    """The fields of the guide: parameters by name, structure of the network, place in training, configuration."""

    params: dict[str, Array]
    model: NetworkSpec
    iteration: int
    total_steps: int
    config: JsonObject
    meta: PolicyMeta
    path: Path


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a policy folder, or the newest generation of a run folder; everything is verified, no code is run.

    Raises:
        NotARunError, ConfigError: no policy lies there, or it is a file of the predecessor.
        CorruptError, IncompatibleError: it cannot be trusted or not be understood; names the file.
    """
    folder = resolve_policy(Path(path))
    meta, params = load_generation(folder)
    return Checkpoint(params, meta.network, meta.iteration, meta.total_steps, meta.config, meta, folder)
