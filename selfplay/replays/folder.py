"""Folders of .slp files, as a user names them; loads no compiled rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def check_replays(folder: Path) -> None:
    """Refuse a folder that does not exist.

    Raises:
        ConfigError: there is none.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of replays")


def replay_files(folder: Path) -> list[Path]:
    """All .slp files in a folder and its subfolders, sorted.

    Raises:
        ConfigError: there is none.
    """
    files = sorted(folder.rglob("*.slp")) if folder.is_dir() else []
    if not files:
        raise ConfigError(f"--replays {folder}: no .slp file is there; selfplay record makes some")
    return files
