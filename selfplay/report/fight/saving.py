"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.errors import ConfigError, boundary


@contextmanager
def saved(path: Path) -> Iterator[Path]:
    """A path to write to; what was written there stands at ``path`` afterwards, or nothing new does.

    Raises:
        ConfigError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with boundary(ConfigError, f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Say before long work begins that its result could not be written.

    Raises:
        ConfigError: the file cannot be written.
    """
    with boundary(ConfigError, f"cannot write {path}"):
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(f"nothing may be written in {path.parent}")
