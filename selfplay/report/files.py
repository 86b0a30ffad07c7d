"""Files of metrics: JSON lines and TensorBoard events, and the leaderboard as text for TensorBoard.

New games change the ratings of old generations, which appended events cannot express. So the leaderboard has a folder
of its own, with one file that each new table replaces.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from selfplay.appending import Appender
from selfplay.errors import CorruptError, DiskError, describe
from selfplay.games.files import NotPlain, opened, parse_json
from selfplay.league.render import to_text
from selfplay.report.metrics import ratings_of

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.report.metrics import Figures

MAX_LINE_BYTES: Final = 2**20  # of a row
WAITING: Final = 1000  # maximum number of rows that are kept while the disk is full
VERSION: Final = "brain.Event:2"  # of the format, in the first event of a file
TEXT: Final = "rating/leaderboard"  # tag of the leaderboard
_numbers: Final = count()


@final
class EventFile:
    """A new event file in ``folder``, which is created if missing; DiskError if that fails."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(f"cannot make {folder}: {describe(error)}") from error
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._path = folder / f"{name}.{time.time_ns()}.{next(_numbers)}"
        self._file = Appender.open(self._path)
        self._records = RecordWriter(self._file)
        try:
            self.add(Event(wall_time=time.time(), file_version=VERSION))
        except DiskError:
            self.discard()
            raise

    def add(self, event: Event) -> None:
        """Append an event; on DiskError nothing is written."""
        self._records.write(event.SerializeToString())

    def discard(self) -> None:
        self.close()
        with suppress(OSError):
            self._path.unlink()

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        self._file.close()


class _Silent:
    """The part of ``Reporter`` that metrics files ignore."""

    def header(self, lines: Sequence[str]) -> None: ...

    def notice(self, text: str) -> None: ...

    def playing(self, text: str) -> None: ...

    def rated(self, report: Figures) -> None: ...

    def leaderboard(self, text: str) -> None: ...


class MetricsReporter(_Silent):
    """Appends ``{"iteration": ..., "total_steps": ..., tag: value, ...}`` to a file of JSON lines.

    Values that are not finite become null. An iteration that is repeated after a crash replaces its first row and all
    later rows.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._file = Appender.open(path)
        self._clock = clock
        self._last = 0
        self._again: int | None = None  # first repeated iteration; later rows are obsolete
        self._waiting: deque[bytes] = deque(maxlen=WAITING)  # rows that could not be written yet

    def iteration(self, report: Figures) -> None:
        """See ``Reporter``. On DiskError the last ``WAITING`` rows are kept for the next call."""
        if report.iteration <= self._last:
            self._again = min(self._again or report.iteration, report.iteration)
            behind = min(self._last - report.iteration + 1, len(self._waiting))
            for _ in range(behind):
                self._waiting.pop()
        self._last = report.iteration
        flat = {tag: value if math.isfinite(value) else None for tag, value in report.flat().items()}
        row = {"iteration": report.iteration, "total_steps": report.total_steps, "wall": self._clock(), **flat}
        self._waiting.append(f"{json.dumps(row, allow_nan=False)}\n".encode())
        if self._again is not None:
            trim_metrics(self._path, self._again - 1)
            file = Appender.open(self._path)
            self._file.close()
            self._file, self._again = file, None
        self._file.write(b"".join(self._waiting))
        self._waiting.clear()

    def close(self) -> None:
        self._file.close()


def trim_metrics(path: Path, iteration: int) -> None:
    """Remove rows after ``iteration`` and invalid lines. The file is read line by line, whatever its size.

    CorruptError if it is not a plain file; DiskError if the new file cannot be written, and the old one is kept.
    """
    if not path.exists():
        return
    temporary = path.with_suffix(".tmp")
    try:
        temporary.unlink(missing_ok=True)
        with opened(path) as handle, open(handle, "rb", closefd=False) as old, temporary.open("xb") as new:
            for line in iter(lambda: old.readline(MAX_LINE_BYTES), b""):
                if line.endswith(b"\n") and 0 < _iteration(line) <= iteration:
                    new.write(line)
            new.flush()
            os.fsync(new.fileno())
        temporary.replace(path)
    except NotPlain as error:
        raise CorruptError(f"{path} {error}") from error
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DiskError(f"cannot write {path}: {describe(error)}") from error


def last_iteration(path: Path) -> int:
    """The greatest iteration that has a row; 0 if none has. CorruptError if it is not a plain file."""
    if not path.exists():
        return 0
    try:
        with opened(path) as handle, open(handle, "rb", closefd=False) as file:
            return max(map(_iteration, iter(lambda: file.readline(MAX_LINE_BYTES), b"")), default=0)
    except NotPlain as error:
        raise CorruptError(f"{path} {error}") from error


def _iteration(line: bytes) -> int:
    """The iteration of a row; 0 if it is invalid."""
    try:
        found = parse_json(line)["iteration"]
    except (ValueError, KeyError, TypeError):
        return 0
    return found if type(found) is int else 0


class TensorBoardReporter(_Silent):
    """Writes the same metrics for ``tensorboard --logdir``; the horizontal axis is total steps.

    ``resumed_at`` are those of the checkpoint that the run resumes from: TensorBoard hides older points beyond it.
    """

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        self._writer = EventFile(folder)
        if resumed_at is not None:
            start = SessionLog(status=SessionLog.START)
            self._writer.add(Event(wall_time=time.time(), step=resumed_at + 1, session_log=start))

    def iteration(self, report: Figures) -> None:
        self._write(report, report.flat())

    def rated(self, report: Figures) -> None:
        self._write(report, ratings_of(report))

    def _write(self, report: Figures, flat: Mapping[str, float]) -> None:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in flat.items()]
        event = Event(wall_time=time.time(), step=report.total_steps, summary=Summary(value=values))
        self._writer.add(event)

    def close(self) -> None:
        self._writer.close()


def write_ratings(folder: Path, board: Leaderboard, total_steps: int) -> None:
    """Replace all files of ``folder``, which is created if missing, by the events of this table.

    ``total_steps`` are those of the run when the ratings were made. On DiskError the old content is kept.
    """
    old = list(folder.iterdir()) if folder.exists() else []
    writer = EventFile(folder)
    try:
        # TensorBoard drops points of the old file at this mark.
        writer.add(Event(wall_time=time.time(), step=0, session_log=SessionLog(status=SessionLog.START)))
        writer.add(Event(wall_time=time.time(), step=total_steps, summary=Summary(value=[_text(to_text(board))])))
    except DiskError:
        writer.discard()
        raise
    writer.close()
    for path in old:
        path.unlink(missing_ok=True)


def _text(table: str) -> Summary.Value:
    code = "\n".join(f"    {line}" for line in table.splitlines())
    return Summary.Value(
        tag=TEXT,
        metadata=text_metadata.create_summary_metadata(display_name="Leaderboard", description=""),
        tensor=make_tensor_proto([code.encode()]),
    )
