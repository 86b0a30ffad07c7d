"""Options for watching, checked before the drawing code is loaded."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from selfplay.errors import ConfigError
from selfplay_melee.state import FPS

REPLAY: Final = ".slp"
GAME: Final = ".json"
FILES: Final = (".html", ".gif", REPLAY)  # endings of files that can be written
MOMENT_S: Final = 12.0  # of a GIF, by default, and of the moment at which a page opens


def is_replay(name: str | None) -> bool:
    """Return True if a name is a replay file and not a run: it has the suffix of a replay, or is a file."""
    return name is not None and not is_game(name) and (name.lower().endswith(REPLAY) or Path(name).is_file())


def is_game(name: str | None) -> bool:
    """Return True if a name has the suffix of a game that was played on a page."""
    return name is not None and name.lower().endswith(GAME)


def check_options(
    what: str | None, out: Path | None, start: float | None, seconds: float | None, *, terminal: bool
) -> None:
    """Refuse two ways of showing at once, endings that cannot be written, a copy of a replay, and impossible times."""
    if out is not None and terminal:
        raise ConfigError("--terminal plays in the terminal and --out writes a file: choose one")
    if out is not None and out.suffix.lower() not in FILES:
        raise ConfigError(f"{out}: unknown kind of file {out.suffix!r} (valid: {', '.join(FILES)})")
    if out is not None and out.suffix.lower() == REPLAY and is_replay(what):
        raise ConfigError(f"{what} is a replay file already")
    if start is not None and not 0 <= start < math.inf:
        raise ConfigError(f"--from must be at least 0 seconds, got {start:g}")
    if seconds is not None and not 1 / FPS <= seconds < math.inf:
        raise ConfigError(f"--seconds must be at least one frame of 1/{FPS} s, got {seconds:g}")


def seconds_for(path: Path | None, seconds: float | None) -> float | None:
    """The seconds to show: ``seconds``, else ``MOMENT_S`` in a GIF, else all (None)."""
    gif = path is not None and path.suffix.lower() == ".gif"
    return MOMENT_S if seconds is None and gif else seconds
