"""Files that are written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from envs.files import replacing
from selfplay.errors import ConfigError, boundary


@contextmanager
def saved(path: Path) -> Iterator[Path]:
    """Write ``path`` atomically: the block writes the temporary file that it gets.

    Raises:
        ConfigError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with boundary(ConfigError, f"cannot write {path}"), replacing(path, temporary):
        yield temporary


def save_text(path: Path, text: str) -> int:
    """Write a UTF-8 file atomically; returns its size in bytes.

    Raises:
        ConfigError: the file cannot be written.
    """
    with saved(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))  # names of files may be no UTF-8
    return path.stat().st_size


def check_writable(path: Path) -> None:
    """Check before long work that its result can be written.

    Raises:
        ConfigError: the file cannot be written.
    """
    if path.is_dir():
        raise ConfigError(f"cannot write {path}: it is a folder")
    with boundary(ConfigError, f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise ConfigError(f"cannot write {path}: {path.parent} is not writable")
