"""Frozen policies: immutable folders with ``policy.json`` and ``params.safetensors``.

Generation ``gen_N`` is the policy saved after iteration N of a run, under ``generations/``.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint.documents import GENERATION_ID, PolicyMeta, encode_meta
from selfplay.checkpoint.store import MANIFEST, make_folder, open_folder, write_folder
from selfplay.checkpoint.tensors import Array, Arrays, decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError, ImmutableError, boundary

if TYPE_CHECKING:
    from selfplay.checkpoint.run_dir import RunDir

POLICY_FILE: Final = "policy.json"
PARAMS_FILE: Final = "params.safetensors"
SET_ASIDE: Final = ".set-aside"
_EXPLOITER_ID: Final = re.compile(r"[a-z_]+_exploiter_([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation folder; its weights are not loaded."""

    id: str
    iteration: int
    path: Path


def weights_hash(params: Arrays) -> str:
    """Sha256 over name, dtype, shape and bytes (little-endian, C order) of all arrays, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(params):
        array = params[name]
        if array.dtype.names is not None:  # their padding bytes are undefined
            raise CheckpointError(f"{name}: weights must be plain arrays, not structured ones")
        little = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        digest.update(f"{name}\0{little.dtype.str}\0{little.shape}\0".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()


def save_policy(path: Path, meta: PolicyMeta, params: Arrays, replace: bool = False) -> Path:
    """Write a policy folder, with its ``weights_hash``. Saving equal weights again has no effect.

    With ``replace`` an existing policy is replaced atomically.
    ImmutableError if the folder has other weights, or, with ``replace``, is not a policy.
    """
    digest = weights_hash(params)
    if meta.weights_hash not in (None, digest):
        raise CheckpointError(f"{path}: weights_hash in the metadata is of other weights")
    if replace and path.exists() and not (path / POLICY_FILE).is_file():
        raise ImmutableError(f"{path} is not a policy and cannot be replaced; move it away")
    if path.exists() and not replace:
        saved, _ = load_generation(path)
        if saved.weights_hash != digest:
            raise ImmutableError(f"{path} holds other weights; a saved policy is never changed")
        return path
    meta = meta.model_copy(update={"weights_hash": digest})
    files = {
        POLICY_FILE: encode_meta(meta, path / POLICY_FILE),
        PARAMS_FILE: encode_arrays(params, str(path / PARAMS_FILE)),
    }
    return write_folder(path, files, replace)


def list_generations(run: RunDir) -> list[Generation]:
    """The complete generations of a run, oldest first."""
    found = []
    if run.generations.is_dir():
        for path in run.generations.iterdir():
            match = GENERATION_ID.fullmatch(path.name)
            if match and not path.is_symlink() and (path / MANIFEST).is_file():
                found.append(Generation(path.name, int(match[1]), path))
    return sorted(found, key=lambda generation: generation.iteration)


def read_policy_meta(path: Path) -> PolicyMeta:
    """The verified ``policy.json`` of a policy folder, without its weights."""
    return open_folder(path).document(POLICY_FILE, PolicyMeta)


def load_generation(path: Path) -> tuple[PolicyMeta, dict[str, Array]]:
    """Metadata and parameters of a policy folder, verified against manifest and weights hash."""
    meta = read_policy_meta(path)
    place = path / PARAMS_FILE
    params = decode_arrays(open_folder(path).read(PARAMS_FILE), str(place))
    if weights_hash(params) != meta.weights_hash:
        raise CorruptError(f"{place}: the weights do not have the hash in {POLICY_FILE}")
    return meta, params


def set_aside_newer(run: RunDir, iteration: int) -> list[Path]:
    """Move generations and exploiters newer than ``iteration`` to ``.set-aside/``; returns the new paths.

    Training that resumes from an older state writes new ones with the same names. The old ones are kept, since the
    ledger may have games of them.
    """
    newer = [generation.path for generation in list_generations(run) if generation.iteration > iteration]
    if run.exploiters.is_dir():
        newer += [
            path
            for path in sorted(run.exploiters.iterdir())
            if (match := _EXPLOITER_ID.fullmatch(path.name)) and int(match[1]) > iteration
        ]
    moved = []
    for path in newer:
        target = _free(path.parent / SET_ASIDE, path.name)
        with boundary(CheckpointError, f"cannot move {path}"):
            make_folder(target.parent)
            os.rename(path, target)
        moved.append(target)
    return moved


def _free(parent: Path, name: str) -> Path:
    return next(path for number in count(1) if not (path := parent / f"{name}-{number}").exists())
