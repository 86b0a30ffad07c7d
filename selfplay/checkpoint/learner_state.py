"""The state of training: folders ``learner/iter_N``. A run resumes from the newest valid one.

A state has a ``learner.json`` and arrays with path-like names, in one safetensors file per first part of the name
(``params/...``, ``optimizer/...``, ``games/...``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import LearnerMeta, encode_meta
from selfplay.checkpoint.store import StoredFolder, open_folder, recover, remove_folder, write_folder
from selfplay.checkpoint.tensors import Array, Arrays, decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError, DiskError, IncompatibleError, NotARunError, boundary

if TYPE_CHECKING:
    from selfplay.checkpoint.run_dir import RunDir

LEARNER_FILE: Final = "learner.json"
ARRAYS_SUFFIX: Final = ".safetensors"
Named = dict[tuple[str, int, int], frozenset[str]]
"""Policies that states refer to, by name, inode and mtime of the state folder; a rewritten folder has a new inode."""
_FOLDER: Final = re.compile(r"iter_(0|[1-9][0-9]{0,11})")


@dataclass(frozen=True, slots=True)
class Retention:
    """A state is kept if any of these rules applies."""

    newest: int = 2  # number of newest valid states, at least one
    every: int = 0  # the first state in every block of so many iterations; 0: off
    best: Collection[int] = ()  # iterations

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise CheckpointError(f"at least one state must be kept, not {self.newest}")

    def kept(self, iterations: Collection[int], verified: Iterable[int]) -> set[int]:
        """The iterations to keep of all on disk; ``verified`` are the valid ones, newest first, evaluated lazily."""
        good = list(islice(verified, self.newest))
        if len(good) < self.newest:
            return set(iterations)
        kept = {number for number in iterations if number >= good[-1] or number in self.best}
        if self.every:
            first: dict[int, int] = {}
            for number in sorted(iterations):
                first.setdefault(number // self.every, number)
            kept |= set(first.values())
        return kept


_LAST_TWO: Final = Retention()


@dataclass(frozen=True, slots=True)
class LearnerState:
    """A verified state; ``skipped`` lists newer invalid ones with the reason, newest first."""

    meta: LearnerMeta
    arrays: dict[str, Array]
    path: Path
    skipped: tuple[str, ...]


def group(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays below ``prefix/``, with the prefix removed from their names."""
    start = f"{prefix.rstrip('/')}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def save_learner(run: RunDir, meta: LearnerMeta, arrays: Arrays, retention: Retention = _LAST_TWO) -> Path:
    path = write_learner(run, meta, arrays)
    retain(run, meta.iteration, retention)
    return path


def write_learner(run: RunDir, meta: LearnerMeta, arrays: Arrays) -> Path:
    """Write ``learner/iter_<iteration>`` and verify it. Older states are not touched."""
    path = run.learner / f"iter_{meta.iteration}"
    files = {LEARNER_FILE: encode_meta(meta, path / LEARNER_FILE)}
    for part in sorted({name.split("/", 1)[0] for name in arrays}):
        file = f"{part}{ARRAYS_SUFFIX}"
        files[file] = encode_arrays({n: a for n, a in arrays.items() if n.split("/", 1)[0] == part}, str(path / file))
    write_folder(path, files, replace=True)
    open_folder(path).verify()
    return path


def retain(run: RunDir, newest: int, retention: Retention) -> None:
    """Remove states by the retention rule, once the one of iteration ``newest`` is valid.

    States of later iterations are removed too, since training resumed from an earlier one.
    """
    folders = {_iteration(path): path for path in _folders(run)}
    going_on = [number for number in folders if number <= newest]
    kept = retention.kept(going_on, (number for number in going_on if _verifies(folders[number])))
    for number, path in folders.items():
        if number not in kept:
            remove_folder(path)


def named_by_states(run: RunDir, known: Named | None = None) -> set[str]:
    """Generations and exploiters that undamaged states refer to; ``known`` is a cache that each call updates."""
    known = {} if known is None else known
    there = {_written(path): path for path in _folders(run)}
    for gone in known.keys() - there:
        del known[gone]
    for key in there.keys() - known:
        known[key] = _named(there[key])
    return set().union(*known.values())


def _written(path: Path) -> tuple[str, int, int]:
    """Identifies a version of a folder."""
    with boundary(DiskError, f"cannot look at {path}"):
        found = path.stat()
    return path.name, found.st_ino, found.st_mtime_ns


def _named(path: Path) -> frozenset[str]:
    """Policies that a state refers to."""
    with suppress(CorruptError, IncompatibleError, NotARunError):
        meta = read_meta(open_folder(path))
        exploiters = meta.extra.get("exploiters", [])
        return frozenset((*meta.generations, *(map(str, exploiters) if isinstance(exploiters, list) else ())))
    return frozenset()


def has_state(run: RunDir) -> bool:
    return bool(_folders(run))


def load_latest_learner(run: RunDir) -> LearnerState:
    """The newest valid state; CorruptError says why none is valid. Call it only while holding the lock of the run."""
    recover(run.learner)
    folders = _folders(run)
    if not folders:
        raise NotARunError(f"{run.path} holds no state to resume from; it ended before its first checkpoint")
    skipped: list[str] = []
    for path in folders:
        try:
            meta, arrays = load_learner(path)
        except (CorruptError, NotARunError) as error:
            skipped.append(f"{path.name}: {error}")
        else:
            return LearnerState(meta, arrays, path, tuple(skipped))
    raise CorruptError(f"{run.learner}: no state can be used: {'; '.join(skipped)}")


def load_learner(path: Path) -> tuple[LearnerMeta, dict[str, Array]]:
    folder = open_folder(path)
    meta = read_meta(folder)
    if path.name != f"iter_{meta.iteration}":
        raise CorruptError(f"{path} holds the state of iteration {meta.iteration}: the folder was renamed")
    arrays: dict[str, Array] = {}
    for file in sorted(folder.manifest.files.keys() - {LEARNER_FILE}):
        if not file.endswith(ARRAYS_SUFFIX):
            raise CorruptError(f"{path / file} is not part of a state")
        arrays |= decode_arrays(folder.read(file), str(path / file))
    return meta, arrays


def read_meta(folder: StoredFolder) -> LearnerMeta:
    """The verified ``learner.json`` of a state; the folder may have been renamed."""
    return folder.document(LEARNER_FILE, LearnerMeta)


def _folders(run: RunDir) -> list[Path]:
    """State folders, newest first."""
    if not run.learner.is_dir():
        return []
    found = [path for path in run.learner.iterdir() if _FOLDER.fullmatch(path.name)]
    return sorted(found, key=_iteration, reverse=True)


def _iteration(path: Path) -> int:
    return int(path.name.removeprefix("iter_"))


def _verifies(path: Path) -> bool:
    try:
        open_folder(path).verify()
    except (CorruptError, IncompatibleError, NotARunError):
        return False
    return True
