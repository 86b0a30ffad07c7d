"""A file of TensorBoard's events, written at once: no thread that dies of a full disk, no record that is torn."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final, final

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from selfplay.appending import Appender
from selfplay.errors import DiskError, describe

if TYPE_CHECKING:
    from pathlib import Path

VERSION: Final = "brain.Event:2"  # of the format, in the first event of a file
_numbers: Final = count()


@final
class EventFile:
    """Events in the order in which they are added.

    Args:
        folder: made when missing.

    Raises:
        DiskError: the file cannot be made.
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
        """Write one; DiskError where the disk refuses it, and nothing of it stays."""
        self._records.write(event.SerializeToString())

    def discard(self) -> None:
        """Close the file, and remove it."""
        self.close()
        with suppress(OSError):
            self._path.unlink()

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        self._file.close()
