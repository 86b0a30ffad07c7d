"""The folder of a run: where everything lies in it, who may write there, and how runs are named and found."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import MAX_JSON_BYTES, JsonObject, decode_json, encode_json
from selfplay.checkpoint.schema import GENERATION_ID
from selfplay.checkpoint.store import make_folder, recover, write_file
from selfplay.errors import CheckpointError, ConfigError, NotARunError, RunExistsError, RunLockedError, boundary
from selfplay.files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKPOINTS: Final = Path("checkpoints")
LOCK: Final = ".lock"
_SEARCH_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class RunDir:
    """Every path of a run."""

    path: Path

    @property
    def run_json(self) -> Path:
        """How the run was started: configuration and versions."""
        return self.path / "run.json"

    @property
    def summary_json(self) -> Path:
        """How the run ended."""
        return self.path / "summary.json"

    @property
    def log(self) -> Path:
        """What the terminal showed, rotated."""
        return self.path / "log.txt"

    @property
    def metrics(self) -> Path:
        """One JSON object an iteration."""
        return self.path / "metrics.jsonl"

    @property
    def generations(self) -> Path:
        """Frozen policies ``gen_N``."""
        return self.path / "generations"

    @property
    def exploiters(self) -> Path:
        """Frozen policies of the other learners of a league, ``<role>_N``."""
        return self.path / "exploiters"

    @property
    def guests(self) -> Path:
        """Copies of policies of other runs that this one plays against."""
        return self.path / "guests"

    @property
    def learner(self) -> Path:
        """States of training ``iter_N``."""
        return self.path / "learner"

    @property
    def ledger(self) -> Path:
        """Rating games, append-only."""
        return self.path / "ledger.jsonl"

    @property
    def tree_json(self) -> Path:
        """What the run's supervisors and their children are doing, or did last."""
        return self.path / "tree.json"

    @property
    def crashes(self) -> Path:
        """One JSON object a child that died; the newest ones."""
        return self.path / "crashes.jsonl"

    @property
    def stacks(self) -> Path:
        """What all threads were doing when the event loop was found blocked."""
        return self.path / "blocked.txt"

    @property
    def best_json(self) -> Path:
        """Who passed the gate; absent in a run without one."""
        return self.path / "best.json"

    @property
    def events(self) -> Path:
        """TensorBoard files."""
        return self.path / "events"

    @property
    def rating_events(self) -> Path:
        """TensorBoard's curve of ratings, made anew with each table."""
        return self.events / "ratings"

    @property
    def lock_file(self) -> Path:
        """Locked by the one trainer of the run; holds its process id."""
        return self.path / LOCK

    def holds_run(self) -> bool:
        """Whether a run was started here."""
        return self.run_json.is_file()

    def read_run(self) -> JsonObject:
        """The content of ``run.json``; NotARunError without one."""
        return _read_document(self.run_json)

    def write_run(self, document: JsonObject) -> None:
        """Write ``run.json`` atomically."""
        write_file(self.run_json, encode_json(document, str(self.run_json)))

    def read_best(self) -> str | None:
        """The generation that passed the gate; None in a run without one.

        Raises:
            CheckpointError: the file says something else.
        """
        if not self.best_json.exists():
            return None
        best = _read_document(self.best_json).get("best")
        if not isinstance(best, str) or not GENERATION_ID.fullmatch(best):
            raise CheckpointError(f"{self.best_json}: best is {best!r}; valid: a generation such as 'gen_50'")
        return best

    def write_best(self, document: JsonObject) -> None:
        """Write ``best.json`` atomically."""
        write_file(self.best_json, encode_json(document, str(self.best_json)))

    def read_summary(self) -> JsonObject:
        """The content of ``summary.json``; NotARunError before the run has ended."""
        return _read_document(self.summary_json)

    def write_summary(self, document: JsonObject) -> None:
        """Write ``summary.json`` atomically."""
        write_file(self.summary_json, encode_json(document, str(self.summary_json)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only trainer of this run; on entry, clear what crashed writes left behind.

        The lock is the kernel's (flock): it ends with the process, however that ends.

        Raises:
            RunLockedError: another trainer has it; names its process id.
            CheckpointError: something in the folder leads out of it.
        """
        with boundary(CheckpointError, f"cannot open {self.lock_file}"):
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            self._acquire(handle)
            refuse_links(self.path)
            for folder in (self.path, self.generations, self.exploiters, self.guests, self.learner):
                recover(folder)
            yield
        finally:
            os.close(handle)

    def trainer(self) -> str | None:
        """The process id of the trainer that works here, as it wrote it down; None where there is none.

        Raises:
            CheckpointError: the lock cannot be looked at.
        """
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
                time.sleep(0.01)  # somebody may only have looked whether there is a trainer
        with boundary(CheckpointError, f"cannot write {self.lock_file}"):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def refuse_links(folder: Path) -> None:
    """Refuse a folder that holds links, pipes or devices: who works in it would write and delete elsewhere.

    Raises:
        CheckpointError: names the first.
    """
    with boundary(CheckpointError, f"cannot look through {folder}"):
        for place, folders, files in os.walk(folder):
            for name in (*folders, *files):
                kind = os.lstat(os.path.join(place, name)).st_mode
                if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)):
                    what = "a link" if stat.S_ISLNK(kind) else "no plain file"
                    raise CheckpointError(
                        f"{os.path.join(place, name)} is {what}: a trainer works in plain folders only; "
                        "put what it stands for in its place, or remove it"
                    )


def check_folder(path: Path, flag: str) -> None:
    """Whether ``path`` is a folder or can become one, as far as files are in its way.

    Raises:
        ConfigError: it is a file, lies below one, or is no possible name; names the flag that the path is from.
    """
    with boundary(ConfigError, f"{flag} {path}"):  # a name that no folder can have
        for place in (path, *path.parents):
            if place.exists() and not place.is_dir():
                raise ConfigError(f"{flag} {path}: {place} is a file, a folder is needed")


def create_run(path: Path, is_default: bool = False) -> RunDir:
    """Make the folder of a new run; nothing that exists is overwritten.

    A path that the user named must be new or empty. Where the path is the default, the first free one of PATH,
    PATH-2, PATH-3, ... is taken, so the same command can be typed again.

    Raises:
        RunExistsError: the folder holds a run; says what to type.
        ConfigError: the path is a file or lies below one, or is a folder that holds something else.
    """
    with boundary(CheckpointError, f"cannot create the run folder {path}"):
        check_folder(path.parent if is_default else path, "--checkpoint")
        make_folder(path.parent)
        if is_default:
            return RunDir(_first_free(path))
        if RunDir(path).holds_run():
            raise RunExistsError(
                f"{path} already holds a run; continue it with --resume --checkpoint {path}, "
                "or name another folder with --checkpoint"
            )
        if path.is_dir() and any(entry.name != LOCK for entry in path.iterdir()):
            raise ConfigError(
                f"{path} is not empty and holds no run; name a new folder, such as --checkpoint {path / 'self_play'}"
            )
        make_folder(path)
    return RunDir(path)


def find_runs(root: Path) -> list[RunDir]:
    """Every run below ``root`` (or ``root`` itself), the one with the latest activity first."""
    runs = [RunDir(path) for path in walk(root, _SEARCH_DEPTH) if RunDir(path).holds_run()]
    return sorted(runs, key=_activity, reverse=True)


def find_newest_run(root: Path) -> RunDir | None:
    """The run below ``root`` with the latest activity."""
    return next(iter(find_runs(root)), None)


def resolve_run(path: Path | None = None, root: Path = CHECKPOINTS) -> RunDir:
    """The run at ``path``, or the newest below ``root`` where none is named.

    Raises:
        NotARunError: there is none; names the newest run there is.
    """
    if path is not None and RunDir(path).holds_run():
        return RunDir(path)
    newest = find_newest_run(root)
    if path is None and newest is not None:
        return newest
    hint = (
        f"; the newest run is {newest.path}"
        if newest
        else f"; there is no run below {root} yet, train_self_play.py starts one"
    )
    raise NotARunError((f"{path} holds no run" if path is not None else "no run was named") + hint)


def walk(root: Path, depth: int) -> Iterator[Path]:
    """``root`` and the folders below it, ``depth`` levels deep, in the order of names; hidden ones are left out."""
    if not root.is_dir():
        return
    yield root
    if depth > 0:
        for entry in sorted(root.iterdir()):
            if not entry.name.startswith("."):
                yield from walk(entry, depth - 1)


def modified_ns(path: Path) -> int:
    """When a file or folder last changed, in ns of wall time; 0 where it does not exist."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _owner(handle: int) -> str:
    """What the holder of a lock wrote into its file: a process id."""
    text = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    return text if text.isascii() and text.isdigit() else "unknown"


def _activity(run: RunDir) -> tuple[int, str]:
    paths = (run.run_json, run.summary_json, run.metrics, run.learner, run.generations)
    return max(map(modified_ns, paths)), str(run.path)


def _first_free(path: Path) -> Path:
    number, candidate = 1, path
    while True:
        try:
            candidate.mkdir()  # the claim: of two trainers that start at once, each gets its own
        except FileExistsError:
            number += 1
            candidate = path.with_name(f"{path.name}-{number}")
        else:
            return candidate


def _read_document(path: Path) -> JsonObject:
    if not path.exists():
        raise NotARunError(f"{path} does not exist")
    return decode_json(read_file(path, MAX_JSON_BYTES), str(path))
