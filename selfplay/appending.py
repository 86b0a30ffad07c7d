"""Appends to files without leaving partial writes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self, final

from selfplay.errors import DiskError, describe


@final
class Appender:
    """Appends to a file, of which it must be the only writer.

    ``descriptor`` is open for appending; ``close`` closes it. ``what`` names the file in error messages.
    """

    def __init__(self, descriptor: int, what: str) -> None:
        self.size = os.fstat(descriptor).st_size  # without partial writes
        self._descriptor = descriptor
        self._what = what

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create a file; DiskError on failure."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise DiskError(f"cannot open {path}: {describe(error)}") from error
        return cls(descriptor, str(path))

    def write(self, data: bytes, *, sync: bool = False) -> None:
        """Append data; with ``sync`` also fsync.

        Raises:
            DiskError: writing failed; partial data is removed at the latest before the next write.
        """
        try:
            if os.fstat(self._descriptor).st_size != self.size:  # a partial write that could not be removed
                os.ftruncate(self._descriptor, self.size)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if sync:
                os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
            raise DiskError(f"cannot write {self._what}: {describe(error)}") from error
        self.size += len(data)

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
