"""``selfplay.games.files`` with ``SelfPlayError`` exceptions that name the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from selfplay.errors import CorruptError, DiskError, SelfPlayError, boundary, describe
from selfplay.games import files

PASSING: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Temporary errors, which do not mean that the file is damaged."""


@contextmanager
def opened(path: Path, kind: type[SelfPlayError] = CorruptError, *, follow: bool = False) -> Iterator[int]:
    """See ``selfplay.games.files.opened``; errors are of type ``kind``."""
    with _named(path, kind), files.opened(path, follow=follow) as handle:
        yield handle


def read_file(path: Path, limit: int, kind: type[SelfPlayError] = CorruptError, *, follow: bool = False) -> bytes:
    """Read a plain file of at most ``limit`` bytes; errors are of type ``kind``.

    ``follow`` allows links, only for paths given by the user.
    """
    with _named(path, kind):
        return files.read_plain(path, limit, follow=follow)


def sync(path: Path, flags: int = 0) -> None:
    """Flush a file to disk, or with ``os.O_DIRECTORY`` a folder; OSError on failure."""
    handle = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _named(path: Path, kind: type[SelfPlayError]) -> Iterator[None]:
    with boundary(kind, f"cannot read {path}"):
        try:
            yield
        except files.NotPlain as error:
            raise kind(f"{path} {error}") from error
        except OSError as error:
            if error.errno in PASSING:
                raise DiskError(f"cannot read {path} now: {describe(error)}") from error
            raise
