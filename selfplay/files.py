"""``envs.files`` with errors of our own tree, which name the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from envs import files
from selfplay.errors import CorruptError, DiskError, SelfPlayError, boundary, describe

PASSING: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""What goes by, and says nothing about the file: whoever takes it for damage would go on without the file."""


@contextmanager
def opened(path: Path, kind: type[SelfPlayError] = CorruptError, *, follow: bool = False) -> Iterator[int]:
    """See ``envs.files.opened``; what is wrong with the file is an error of ``kind``."""
    with _named(path, kind), files.opened(path, follow=follow) as handle:
        yield handle


def read_file(path: Path, limit: int, kind: type[SelfPlayError] = CorruptError, *, follow: bool = False) -> bytes:
    """The content of a plain file of at most ``limit`` bytes.

    Args:
        path: the file.
        limit: in bytes.
        kind: of the error where it cannot be had.
        follow: a link, as users name them; what lies in a folder of others is never followed out of it.
    """
    with _named(path, kind):
        return files.read_plain(path, limit, follow=follow)


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
