"""The folder of a run: paths, lock, creation and search."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.checkpoint.documents import GENERATION_ID, MAX_JSON_BYTES, JsonObject, decode_json, encode_json
from selfplay.checkpoint.hub import local
from selfplay.checkpoint.store import make_folder, recover, write_file
from selfplay.errors import (
    CheckpointError,
    ConfigError,
    CorruptError,
    NotARunError,
    RunExistsError,
    RunLockedError,
    boundary,
)
from selfplay.files import read_file
from selfplay.games.files import is_writable
from selfplay.verbs import quoted

CHECKPOINTS: Final = Path("checkpoints")
LOCK: Final = ".lock"
RUN_FILE: Final = "run.json"
_SEARCH_DEPTH: Final = 3


class _Below:
    """A path below the folder of a run, as an attribute of ``RunDir``."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __get__(self, run: RunDir, owner: type[RunDir]) -> Path:
        return run.path / self._place


@dataclass(frozen=True, slots=True)
class RunDir:
    """Every path of a run."""

    path: Path

    run_json = _Below(RUN_FILE)  # configuration and versions
    summary_json = _Below("summary.json")  # written when the run ends
    log = _Below("log.txt")  # rotated
    metrics = _Below("metrics.jsonl")  # one JSON object per iteration
    generations = _Below("generations")  # frozen policies ``gen_N``
    exploiters = _Below("exploiters")  # frozen policies of the other learners of a league, ``<role>_N``
    external_opponents = _Below("external_opponents")  # copies of policies of other runs
    learner = _Below("learner")  # states of training ``iter_N``
    ledger = _Below("ledger.jsonl")  # rating games, append-only
    people = _Below("people.jsonl")  # rated games of people, append-only; never read by the trainer
    people_games = _Below("people/games")  # all games of people, as JSON and .slp
    tree_json = _Below("tree.json")  # last status of the supervision tree
    crashes = _Below("crashes.jsonl")  # one JSON object per crash, the newest ones
    stacks = _Below("blocked.txt")  # stacks of all threads when the event loop was blocked
    best_json = _Below("best.json")  # the promoted generation; absent without a gate
    films = _Below("films")  # GIFs for trackers
    events = _Below("events")  # TensorBoard files
    rating_events = _Below("events/ratings")  # TensorBoard files of the ratings, rewritten with each table
    lock_file = _Below(LOCK)  # locked by the trainer of the run; holds its process id

    def holds_run(self) -> bool:
        return self.run_json.is_file()

    def has_begun(self) -> bool:
        """Whether there is a state from which the run can go on."""
        return self.holds_run() and self.learner.is_dir() and any(self.learner.glob("iter_*"))

    def read_run(self) -> JsonObject:
        """Read ``run.json``; NotARunError if missing."""
        return _read_document(self.run_json)

    def write_run(self, document: JsonObject) -> None:
        write_file(self.run_json, encode_json(document, str(self.run_json)))

    def read_best(self) -> str | None:
        """The promoted generation; None without a gate. CorruptError for an invalid file."""
        if not self.best_json.exists():
            return None
        best = _read_document(self.best_json).get("best")
        if not isinstance(best, str) or not GENERATION_ID.fullmatch(best):
            raise CorruptError(f"{self.best_json}: best is {best!r}; valid: a generation such as 'gen_50'")
        return best

    def write_best(self, document: JsonObject) -> None:
        write_file(self.best_json, encode_json(document, str(self.best_json)))

    def read_summary(self) -> JsonObject:
        """Read ``summary.json``; NotARunError before the run has ended."""
        return _read_document(self.summary_json)

    def write_summary(self, document: JsonObject) -> None:
        write_file(self.summary_json, encode_json(document, str(self.summary_json)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run for one trainer, and remove leftovers of crashed writes.

        The lock (flock) is released by the kernel when the process ends.
        RunLockedError with its process id if another trainer has it; CheckpointError for links or special files.
        """
        with boundary(CheckpointError, f"cannot open {self.lock_file}"):
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            self._acquire(handle)
            refuse_links(self.path)
            for folder in (self.path, self.generations, self.exploiters, self.external_opponents, self.learner):
                recover(folder)
            yield
        finally:
            os.close(handle)

    def trainer(self) -> str | None:
        """Process id of the running trainer; None if there is none. CheckpointError if the lock file cannot be read."""
        with boundary(CheckpointError, f"cannot open {self.lock_file}"):
            try:
                handle = os.open(self.lock_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:
                return None
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _owner(handle)
            else:
                return None
            finally:
                os.close(handle)

    def _acquire(self, handle: int) -> None:
        for last in (False, False, True):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if last:
                    raise RunLockedError(
                        f"another trainer (process {_owner(handle)}) works in {self.path}; "
                        "wait for it, or name another folder with --checkpoint"
                    ) from error
                time.sleep(0.01)  # ``trainer()`` of another process holds the lock briefly
        with boundary(CheckpointError, f"cannot write {self.lock_file}"):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def refuse_links(folder: Path) -> None:
    """Refuse a folder that contains links, pipes or devices, since writes could go elsewhere."""
    with boundary(CheckpointError, f"cannot look through {folder}"):
        for place, folders, files in os.walk(folder):
            for name in (*folders, *files):
                kind = os.lstat(os.path.join(place, name)).st_mode
                if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)):
                    what = "a link" if stat.S_ISLNK(kind) else "not a plain file"
                    raise CheckpointError(
                        f"{os.path.join(place, name)} is {what}: a run folder has only plain files and folders; "
                        "replace it by its content, or remove it"
                    )


def check_folder(path: Path, flag: str) -> None:
    """Check that ``path`` is a folder or can be created."""
    with boundary(ConfigError, f"{flag} {path}"):  # a name that no folder can have
        for place in (path, *path.parents):
            if place.exists() and not place.is_dir():
                raise ConfigError(f"{flag} {path}: {place} is a file, a folder is needed")


def check_writable_folder(path: Path, flag: str) -> None:
    """Check before long work that ``path`` is a folder that can be written to, or can be created."""
    check_folder(path, flag)
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not is_writable(there):
        raise ConfigError(f"{flag} {path}: {there} is not writable")


def create_run(path: Path, is_default: bool = False) -> RunDir:
    """Create the folder of a new run; nothing is overwritten.

    A path given by the user must be new or empty. For the default path the first free one of PATH, PATH-2,
    PATH-3, ... is used.
    """
    check_new_run(path, is_default)
    with boundary(CheckpointError, f"cannot create the run folder {path}"):
        make_folder(path.parent)
        if is_default:
            return RunDir(_first_free(path))
        make_folder(path)
    return RunDir(path)


def check_new_run(path: Path, is_default: bool = False) -> None:
    """Check that ``create_run`` can create the folder, without creating anything.

    RunExistsError if it holds a run, ConfigError if it cannot be a new folder, CheckpointError if it cannot be created.
    """
    with boundary(CheckpointError, f"cannot create the run folder {path}"):
        check_folder(path.parent if is_default else path, "--checkpoint")
        wanted = path.parent if is_default else path
        there = next(place for place in (wanted, *wanted.parents) if place.exists())
        if not is_writable(there):
            raise CheckpointError(f"cannot create the run folder {path}: {there} is not writable")
        if is_default:
            return
        if RunDir(path).holds_run():
            raise RunExistsError(
                f"{path} already holds a run; continue it with --resume --checkpoint {quoted(path)}, "
                "or name another folder with --checkpoint"
            )
        if path.is_dir() and any(entry.name != LOCK for entry in path.iterdir()):
            raise ConfigError(
                f"{path} is not empty and holds no run; name a new folder, "
                f"such as --checkpoint {quoted(path / 'self_play')}"
            )


def find_runs(root: Path) -> list[RunDir]:
    """All runs at or below ``root``, latest activity first."""
    runs = [RunDir(path) for path in walk(root, _SEARCH_DEPTH) if RunDir(path).holds_run()]
    return sorted(runs, key=_activity, reverse=True)


def resolve_run(path: Path | None = None, root: Path = CHECKPOINTS) -> RunDir:
    """The run at ``path``, or without a path the newest below ``root``."""
    if path is not None and RunDir(path).holds_run():
        return RunDir(path)
    newest = next(iter(find_runs(root)), None)
    if path is None and newest is not None:
        return newest
    hint = f"there is no run below {root} yet, selfplay train starts one"
    if newest is not None:
        hint = f"the newest run is {newest.path}"
    raise NotARunError(f"{'no run was named' if path is None else f'{path} holds no run'}; {hint}")


def runs_under(root: Path = CHECKPOINTS) -> list[Path]:
    """Run folders directly under ``root``, most recently written first."""
    runs = [RunDir(path.parent) for path in root.glob(f"*/{RUN_FILE}")]
    runs.sort(key=lambda run: (-max(modified_ns(run.run_json), modified_ns(run.ledger)), run.path.name))
    return [run.path for run in runs]


def named_run(name: str | None, files: Sequence[str] = (RUN_FILE,), root: Path = CHECKPOINTS) -> Path:
    """The folder for a path, a name under ``root``, a policy of the Hub (``hf://``), or None for the newest run.

    A named folder must contain one of ``files``.
    """
    runs = runs_under(root)
    if name is None:
        if not runs:
            raise NotARunError(f"no run under {root}; train one first")
        return runs[0]
    for folder in (local(name), root / name):
        if any((folder / file).is_file() for file in files):
            return folder
    there = ", ".join(run.name for run in runs[:8]) or "none"
    raise NotARunError(f"{name} holds no run (no {' or '.join(files)} in it); runs under {root}: {there}")


def walk(root: Path, depth: int) -> Iterator[Path]:
    """``root`` and the folders up to ``depth`` levels below it, sorted by name, without hidden ones."""
    if not root.is_dir():
        return
    yield root
    if depth > 0:
        for entry in sorted(root.iterdir()):
            if not entry.name.startswith("."):
                yield from walk(entry, depth - 1)


def modified_ns(path: Path) -> int:
    """Modification time in ns; 0 if the path does not exist."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _owner(handle: int) -> str:
    """The process id in a lock file."""
    text = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    return text if text.isascii() and text.isdigit() else "unknown"


def _activity(run: RunDir) -> tuple[int, str]:
    paths = (run.run_json, run.summary_json, run.metrics, run.learner, run.generations)
    return max(map(modified_ns, paths)), str(run.path)


def _first_free(path: Path) -> Path:
    number, candidate = 1, path
    while True:
        try:
            candidate.mkdir()  # atomic: two trainers that start together get different folders
        except FileExistsError:
            number += 1
            candidate = path.with_name(f"{path.name}-{number}")
        else:
            return candidate


def _read_document(path: Path) -> JsonObject:
    if not path.exists():
        raise NotARunError(f"{path} does not exist")
    return decode_json(read_file(path, MAX_JSON_BYTES), str(path))
