"""Folders of .slp files, as a user names them; loads no compiled rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_PATTERN: Final = "*.[sS][lL][pP]"
_ARCHIVES: Final = (".zip", ".7z", ".rar", ".gz", ".tar", ".tgz", ".zst")


def replay_files(place: Path) -> list[Path]:
    """All .slp files of a folder and its subfolders, sorted, ConfigError if there is none; a file is itself."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ConfigError(f"--replays {place}: no such folder of replays")
    files = sorted(place.rglob(_PATTERN))
    if not files:
        archive = next((path for path in place.rglob("*") if path.suffix.lower() in _ARCHIVES), None)
        remedy = "selfplay record makes some" if archive is None else f"{archive.name} is an archive: unpack it first"
        raise ConfigError(f"--replays {place}: no .slp file is there; {remedy}")
    return files
