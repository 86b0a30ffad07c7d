"""Writes TensorBoard event files synchronously, without torn records on a full disk."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final, final

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from selfplay.appending import Appender
from selfplay.errors import DiskError, describe

VERSION: Final = "brain.Event:2"  # of the format, in the first event of a file
_numbers: Final = count()


@final
class EventFile:
    """A new event file.

    Args:
        folder: created if missing.

    Raises:
        DiskError: the file cannot be created.
    """

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
