"""Files that are written atomically, and the check that they can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.errors import ConfigError, boundary
from selfplay.games.files import is_writable, replacing


@contextmanager
def saved(path: Path) -> Iterator[Path]:
    """Write ``path`` atomically: the block writes the temporary file that it gets. ConfigError on failure."""
    temporary = path.with_name(f".{path.name}.tmp")
    with boundary(ConfigError, f"cannot write {path}"), replacing(path, temporary):
        yield temporary


def save_text(path: Path, text: str) -> int:
    """Write a UTF-8 file, as ``saved``; returns its size in bytes."""
    with saved(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))  # names of files may be no UTF-8
    return path.stat().st_size


def check_writable(path: Path) -> None:
    """Check before long work that its result can be written; ConfigError if not."""
    with boundary(ConfigError, f"cannot write {path}"):  # a name that no file can have
        if path.is_dir():
            raise ConfigError(f"cannot write {path}: it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
    if not is_writable(path.parent):
        raise ConfigError(f"cannot write {path}: {path.parent} is not writable")
