"""Files that only grow, by whole pieces: of one that the disk refuses nothing stays."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self, final

from selfplay.errors import DiskError, describe

if TYPE_CHECKING:
    from pathlib import Path


@final
class Appender:
    """Writes whole pieces behind what a file holds; it must be the file's only writer.

    Args:
        descriptor: Of the file, opened for appending; it is closed by ``close``.
        what: How errors name it.
    """

    def __init__(self, descriptor: int, what: str) -> None:
        self.size = os.fstat(descriptor).st_size  # of the whole pieces
        self._descriptor = descriptor
        self._what = what

    @classmethod
    def open(cls, path: Path) -> Self:
        """Of a file that is made where there is none; DiskError where that cannot be done."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise DiskError(f"cannot open {path}: {describe(error)}") from error
        return cls(descriptor, str(path))

    def write(self, data: bytes, *, sync: bool = False) -> None:
        """Append a piece; with ``sync`` wait until the disk has it.

        Raises:
            DiskError: it refused. The file is as it was, or will be before the next piece.
        """
        try:
            if os.fstat(self._descriptor).st_size != self.size:  # a part, which a failing disk did not let go
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
        """Give the file back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
