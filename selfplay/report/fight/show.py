"""Shows a film: as a file, whose suffix gives the format, or in the terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.recfunctions import require_fields
from rich.console import Console

from envs.melee.drawing.film import film_of
from envs.melee.drawing.story import summary
from envs.melee.replay import ITEM, read_replay, seat_of, write_replay
from envs.melee.state import FPS
from selfplay.errors import ConfigError
from selfplay.report.fight.keys import terminal_keys
from selfplay.report.fight.page import write_html
from selfplay.report.fight.terminal import play_terminal
from selfplay.report.fight.video import write_gif, write_mp4

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film

REPLAY: Final = ".slp"
MOMENT_S: Final = 12.0  # of a GIF, by default, and of the moment at which a page opens


def is_replay(name: str | None) -> bool:
    """Whether a name is a replay file and not a run: it has the suffix of one, or is a file."""
    return name is not None and (name.lower().endswith(REPLAY) or Path(name).is_file())


def replay_film(path: str | Path) -> Film:
    """The film of a replay file.

    Raises:
        ReplayError: it cannot be read.
        GameError: it holds no frame.
    """
    return film_of(read_replay(path))


def write_slp(film: Film, path: Path) -> int:
    """Write a game of the mock as a replay file, atomically; its size in bytes.

    Raises:
        ReplayError: the file cannot be written.
    """
    characters = film.players["character"][0]
    seats = [seat_of(port, int(characters[port]), name=name) for port, name in enumerate(film.names)]
    items = np.zeros(0, ITEM) if film.items is None else require_fields(film.items, ITEM)
    write_replay(path, film.state(), (seats[0], seats[1]), film.stage, items=items)
    return path.stat().st_size


WRITERS: Final[dict[str, Callable[[Film, Path], int]]] = {
    ".html": write_html,
    ".gif": write_gif,
    ".mp4": write_mp4,
    REPLAY: write_slp,
}


def check(what: str | None, out: Path | None, start: float | None, seconds: float | None, *, terminal: bool) -> None:
    """Check the options before the work begins.

    Raises:
        ConfigError: two ways of showing at once, another ending than those that can be written, a copy of a replay,
            or no such time.
    """
    if out is not None and terminal:
        raise ConfigError("--terminal plays in the terminal and --out writes a file: choose one")
    if out is not None and out.suffix.lower() not in WRITERS:
        raise ConfigError(f"{out}: unknown kind of file {out.suffix!r} (valid: {', '.join(WRITERS)})")
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


def write(film: Film, path: Path) -> str:
    """Write the file; returns a line about it.

    Raises:
        ConfigError: the file cannot be written.
        ReplayError: the replay file cannot be written.
    """
    size = WRITERS[path.suffix.lower()](film, path)
    return f"{path} ({size / 1e6:.1f} MB, {film.seconds:.1f} s of game)"


def play(film: Film) -> list[str]:
    """Play in the terminal, if standard output is one; returns lines to print afterwards."""
    console = Console()
    if not console.is_terminal or not sys.stdin.isatty():
        return [*summary(film), "This is no terminal to play in; --out FIGHT.html writes a page for the browser."]
    with terminal_keys(sys.stdin.fileno()) as keys:
        play_terminal(film, console, keys)
    return summary(film)
