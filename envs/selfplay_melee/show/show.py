"""Shows a film: as a file, whose suffix gives the format, or in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.recfunctions import require_fields
from rich.console import Console

from selfplay_melee.drawing.story import summary
from selfplay_melee.replay import ITEM, seat_of, write_replay
from selfplay_melee.show.gif import write_gif
from selfplay_melee.show.page import write_html
from selfplay_melee.show.saving import FILES
from selfplay_melee.show.terminal import play_terminal, terminal_keys

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film


def write_slp(film: Film, path: Path) -> int:
    """Write a game of the mock as a replay file, atomically; its size in bytes."""
    characters = film.players["character"][0]
    seats = [
        seat_of(port, int(characters[port]), human=film.people[port], name=name) for port, name in enumerate(film.names)
    ]
    items = np.zeros(0, ITEM) if film.items is None else require_fields(film.items, ITEM)
    write_replay(path, film.state(), (seats[0], seats[1]), film.stage, items=items)
    return path.stat().st_size


WRITERS: Final[dict[str, Callable[[Film, Path], int]]] = dict(
    zip(FILES, (write_html, write_gif, write_slp), strict=True)
)


def write(film: Film, path: Path) -> str:
    """Write the file; returns a line about it."""
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
