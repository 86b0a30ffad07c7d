"""A run for programs: one JSON line an iteration, and events for TensorBoard."""

from __future__ import annotations

import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from envs.files import NotPlain, opened, parse_json
from selfplay.appending import Appender
from selfplay.errors import CorruptError, DiskError, describe
from selfplay.report.event_file import EventFile

if TYPE_CHECKING:
    from selfplay.report.metrics import Figures


MAX_LINE_BYTES: Final = 2**20  # of a row
WAITING: Final = 1000
"""Rows of metrics that wait for room on the disk at most."""


class _Silent:
    """The part of ``Reporter`` that files of figures leave out."""

    def header(self, lines: Sequence[str]) -> None:
        """Not a figure."""

    def notice(self, text: str) -> None:
        """Not a figure."""

    def leaderboard(self, text: str) -> None:
        """Not a figure."""


class MetricsReporter(_Silent):
    """Appends ``{"iteration": ..., "total_steps": ..., tag: value, ...}`` to a file of JSON lines.

    A figure that is not finite becomes null, since JSON has no word for it. An iteration that is played again, after
    the learner crashed and went on from a checkpoint, takes the place of its first row and of those behind it.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._file = Appender.open(path)
        self._clock = clock
        self._last = 0
        self._again: int | None = None  # rows from here on in the file are played again
        self._waiting: deque[bytes] = deque(maxlen=WAITING)  # rows that the disk has not taken

    def iteration(self, report: Figures) -> None:
        """See ``Reporter``. Rows that the disk refuses wait, the last ``WAITING`` of them, and DiskError is raised."""
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
        """See ``Reporter``."""
        self._file.close()


def trim_metrics(path: Path, iteration: int) -> None:
    """Forget rows after ``iteration``, a torn last line and what is no row: a resumed run plays those iterations again.

    The file may be as large as it likes: it grows with the run, and is read line by line.

    Raises:
        CorruptError: it is no plain file.
        DiskError: the disk has no room for the file that takes its place; the old one stays.
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


def _iteration(line: bytes) -> int:
    """Of a row; 0 where it is none."""
    try:
        found = parse_json(line)["iteration"]
    except (ValueError, KeyError, TypeError):
        return 0
    return found if type(found) is int else 0


class TensorBoardReporter(_Silent):
    """Writes the same figures for ``tensorboard --logdir``; the horizontal axis is total steps.

    Args:
        folder: of the event files; made when missing.
        resumed_at: total steps of the checkpoint that the run goes on from. Points beyond it, left by a part of the
            run that was lost, are hidden.
    """

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        self._writer: EventFile | None = EventFile(folder)
        if resumed_at is not None:
            start = SessionLog(status=SessionLog.START)
            self._writer.add(Event(wall_time=time.time(), step=resumed_at + 1, session_log=start))

    def iteration(self, report: Figures) -> None:
        """See ``Reporter``."""
        if self._writer is None:
            return
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in report.flat().items()]
        event = Event(wall_time=time.time(), step=report.total_steps, summary=Summary(value=values))
        self._writer.add(event)

    def close(self) -> None:
        """See ``Reporter``."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
