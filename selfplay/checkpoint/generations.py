"""Frozen policies: folders with ``policy.json`` and ``params.safetensors``, immutable once written.

A generation ``gen_N`` is the policy folder that iteration N of a run left under ``generations/``.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, encode_json
from selfplay.checkpoint.schema import GENERATION_ID, POLICY_MIGRATIONS, PolicyMeta, from_document, to_document
from selfplay.checkpoint.store import MANIFEST, make_folder, open_folder, write_folder
from selfplay.checkpoint.tensors import Array, Arrays, decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError, ImmutableError, boundary

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.checkpoint.run_dir import RunDir

POLICY_FILE: Final = "policy.json"
PARAMS_FILE: Final = "params.safetensors"
SET_ASIDE: Final = ".set-aside"
_EXPLOITER_ID: Final = re.compile(r"[a-z_]+_exploiter_([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class Generation:
    """Where a generation lies; its weights have not been read."""

    id: str
    iteration: int
    path: Path


def weights_hash(params: Arrays) -> str:
    """Sha256 over name, type, shape and bytes (little-endian, row by row) of every array, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(params):
        array = params[name]
        if array.dtype.names is not None:  # their padding has no defined bytes
            raise CheckpointError(f"{name}: weights are plain arrays, not structured ones")
        little = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        digest.update(f"{name}\0{little.dtype.str}\0{little.shape}\0".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()


def save_policy(path: Path, meta: PolicyMeta, params: Arrays, replace: bool = False) -> Path:
    """Write a policy folder; its ``weights_hash`` is computed here. Saving equal weights again changes nothing.

    With ``replace`` the folder takes the place of the policy that was there, at once and whole.

    Raises:
        ImmutableError: the folder holds other weights, or, with ``replace``, no policy.
        CheckpointError: it cannot be written.
    """
    digest = weights_hash(params)
    if meta.weights_hash not in (None, digest):
        raise CheckpointError(f"{path}: the metadata carries the hash of other weights")
    if replace and path.exists() and not (path / POLICY_FILE).is_file():
        raise ImmutableError(f"{path} holds no policy, so that none can take its place; move it away")
    if path.exists() and not replace:
        saved, _ = load_generation(path)
        if saved.weights_hash != digest:
            raise ImmutableError(f"{path} holds other weights; a saved policy is never changed")
        return path
    document = to_document(meta.model_copy(update={"weights_hash": digest}), POLICY_MIGRATIONS)
    files = {
        POLICY_FILE: encode_json(document, str(path / POLICY_FILE)),
        PARAMS_FILE: encode_arrays(params, str(path / PARAMS_FILE)),
    }
    return write_folder(path, files, replace)


def save_generation(run: RunDir, meta: PolicyMeta, params: Arrays) -> Path:
    """Write ``generations/gen_<iteration>`` of a run; see ``save_policy``."""
    if meta.id != f"gen_{meta.iteration}":
        raise CheckpointError(
            f"a generation of iteration {meta.iteration} is named gen_{meta.iteration}, not {meta.id}"
        )
    return save_policy(run.generations / meta.id, meta, params)


def list_generations(run: RunDir) -> list[Generation]:
    """The generations of a run by iteration, oldest first; folders that were not written to their end are left out."""
    found = []
    if run.generations.is_dir():
        for path in run.generations.iterdir():
            match = GENERATION_ID.fullmatch(path.name)
            if match and not path.is_symlink() and (path / MANIFEST).is_file():
                found.append(Generation(path.name, int(match[1]), path))
    return sorted(found, key=lambda generation: generation.iteration)


def read_policy_meta(path: Path) -> PolicyMeta:
    """The verified ``policy.json`` of a policy folder, without its weights."""
    text = open_folder(path).read(POLICY_FILE, MAX_JSON_BYTES)
    place = str(path / POLICY_FILE)
    return from_document(PolicyMeta, decode_json(text, place), POLICY_MIGRATIONS, place)


def load_generation(path: Path) -> tuple[PolicyMeta, dict[str, Array]]:
    """Metadata and parameters of a policy folder, verified against its manifest and against the hash of its weights."""
    meta = read_policy_meta(path)
    place = path / PARAMS_FILE
    params = decode_arrays(open_folder(path).read(PARAMS_FILE), str(place))
    if weights_hash(params) != meta.weights_hash:
        raise CorruptError(f"{place}: these are not the weights whose hash {POLICY_FILE} carries")
    return meta, params


def set_aside_newer(run: RunDir, iteration: int) -> list[Path]:
    """Move generations and exploiters newer than ``iteration`` out of the way; where they went.

    Training that resumes from an older state will make others of the same names. The old ones are kept, under
    ``.set-aside/`` beside them, since matches may have been played with them.
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
