"""The state of training: ``learner/iter_N`` folders, of which the newest that verifies is the one to resume from.

A state is a ``learner.json`` and arrays with path-like names; the arrays of ``params/...``, ``optimizer/...`` and
``games/...`` go into one safetensors file for each first part of the name.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, encode_json
from selfplay.checkpoint.retention import LAST_TWO, Retention
from selfplay.checkpoint.schema import LEARNER_MIGRATIONS, LearnerMeta, from_document, to_document
from selfplay.checkpoint.store import StoredFolder, open_folder, recover, remove_folder, write_folder
from selfplay.checkpoint.tensors import Array, Arrays, decode_arrays, encode_arrays
from selfplay.errors import CorruptError, DiskError, IncompatibleError, NotARunError, boundary

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.checkpoint.run_dir import RunDir

LEARNER_FILE: Final = "learner.json"
ARRAYS_SUFFIX: Final = ".safetensors"
Named = dict[tuple[str, int, int], frozenset[str]]
"""Whom states go on with, by name, inode and time of their folder: one that is written again has another inode."""
_FOLDER: Final = re.compile(r"iter_(0|[1-9][0-9]{0,11})")


@dataclass(frozen=True, slots=True)
class LearnerState:
    """A verified state; ``skipped`` says, newest first, which newer ones could not be used and why."""

    meta: LearnerMeta
    arrays: dict[str, Array]
    path: Path
    skipped: tuple[str, ...]


def group(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose name starts with ``prefix/``, by the rest of their names."""
    start = f"{prefix.rstrip('/')}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def save_learner(run: RunDir, meta: LearnerMeta, arrays: Arrays, retention: Retention = LAST_TWO) -> Path:
    """``write_learner``, then ``retain``."""
    path = write_learner(run, meta, arrays)
    retain(run, meta.iteration, retention)
    return path


def write_learner(run: RunDir, meta: LearnerMeta, arrays: Arrays) -> Path:
    """Write ``learner/iter_<iteration>``, and read it back.

    Raises:
        DiskError: it cannot be written; older states are untouched.
        CorruptError: it does not verify; older states are untouched.
    """
    path = run.learner / f"iter_{meta.iteration}"
    files = {LEARNER_FILE: encode_json(to_document(meta, LEARNER_MIGRATIONS), str(path / LEARNER_FILE))}
    for part in sorted({name.split("/", 1)[0] for name in arrays}):
        file = f"{part}{ARRAYS_SUFFIX}"
        files[file] = encode_arrays({n: a for n, a in arrays.items() if n.split("/", 1)[0] == part}, str(path / file))
    write_folder(path, files, replace=True)
    open_folder(path).verify()
    return path


def retain(run: RunDir, newest: int, retention: Retention) -> None:
    """Remove the states that nothing keeps, once the one of iteration ``newest`` verifies.

    States of a later iteration go, too: training has gone on from an earlier one.

    Raises:
        DiskError: one could not be removed.
    """
    folders = {_iteration(path): path for path in _folders(run)}
    going_on = [number for number in folders if number <= newest]
    kept = retention.kept(going_on, (number for number in going_on if _verifies(folders[number])))
    for number, path in folders.items():
        if number not in kept:
            remove_folder(path)


def named_by_states(run: RunDir, known: Named | None = None) -> set[str]:
    """Generations and exploiters that a state on the disk goes on with; a damaged one names nobody.

    Args:
        run: Its folder.
        known: What earlier calls have read, and will not be read again; this one adds to it.

    Raises:
        DiskError: one cannot be read now, but may be later.
    """
    known = {} if known is None else known
    there = {_written(path): path for path in _folders(run)}
    for gone in known.keys() - there:
        del known[gone]
    for key in there.keys() - known:
        known[key] = _named(there[key])
    return set().union(*known.values())


def _written(path: Path) -> tuple[str, int, int]:
    """What tells a folder from one of the same name that was there before."""
    with boundary(DiskError, f"cannot look at {path}"):
        found = path.stat()
    return path.name, found.st_ino, found.st_mtime_ns


def _named(path: Path) -> frozenset[str]:
    """Whom one state goes on with."""
    with suppress(CorruptError, IncompatibleError, NotARunError):
        meta = _read_meta(open_folder(path))
        exploiters = meta.extra.get("exploiters", [])
        return frozenset((*meta.generations, *(map(str, exploiters) if isinstance(exploiters, list) else ())))
    return frozenset()


def has_state(run: RunDir) -> bool:
    """Whether a state was written; not whether it verifies."""
    return bool(_folders(run))


def load_latest_learner(run: RunDir) -> LearnerState:
    """The newest state that verifies; only the one trainer of the run may call this.

    Raises:
        NotARunError: the run has no state.
        CorruptError: it has states, but none can be used; the message gives the fault of each.
    """
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


def verified_meta(path: Path) -> LearnerMeta:
    """What a state says of itself, every file of it verified; its folder may have been set aside under another name.

    Raises:
        CheckpointError: it is none, or a file of it is damaged.
    """
    folder = open_folder(path)
    folder.verify()
    return _read_meta(folder)


def load_learner(path: Path) -> tuple[LearnerMeta, dict[str, Array]]:
    """One state, verified."""
    folder = open_folder(path)
    meta = _read_meta(folder)
    if path.name != f"iter_{meta.iteration}":
        raise CorruptError(f"{path} holds the state of iteration {meta.iteration}, so the folder was renamed")
    arrays: dict[str, Array] = {}
    for file in sorted(folder.manifest.files.keys() - {LEARNER_FILE}):
        if not file.endswith(ARRAYS_SUFFIX):
            raise CorruptError(f"{path / file} is no part of a state")
        arrays |= decode_arrays(folder.read(file), str(path / file))
    return meta, arrays


def _read_meta(folder: StoredFolder) -> LearnerMeta:
    place = str(folder.path / LEARNER_FILE)
    document = decode_json(folder.read(LEARNER_FILE, MAX_JSON_BYTES), place)
    return from_document(LearnerMeta, document, LEARNER_MIGRATIONS, place)


def _folders(run: RunDir) -> list[Path]:
    """The folders of states, newest first."""
    if not run.learner.is_dir():
        return []
    found = [path for path in run.learner.iterdir() if _FOLDER.fullmatch(path.name)]
    return sorted(found, key=_iteration, reverse=True)


def _iteration(path: Path) -> int:
    """Of a state, by the name of its folder."""
    return int(path.name.removeprefix("iter_"))


def _verifies(path: Path) -> bool:
    try:
        open_folder(path).verify()
    except (CorruptError, IncompatibleError, NotARunError):
        return False
    return True
