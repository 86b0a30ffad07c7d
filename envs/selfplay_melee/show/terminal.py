"""Plays a fight in a terminal, two pixels a character."""

from __future__ import annotations

import os
import select
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.style import Style
from rich.table import Table
from rich.text import Text

from selfplay.half_blocks import UPPER_HALF, rows_of
from selfplay_melee.controller import BUTTONS
from selfplay_melee.drawing.overlay import COLOURS
from selfplay_melee.drawing.picture import Painter
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.drawing.story import action_name, clock
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

PICTURES_PER_S: Final = 30
SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
SHARP: Final = 4  # drawn this much larger, then reduced
SMALLEST: Final = (32, 12)  # columns and rows
BELOW: Final = 4  # rows under the picture
_HELP: Final = "space pause  ←→ a second, or a frame while paused  [ ] speed  home end  q quit"
_ARROWS: Final = "→↗↑↖←↙↓↘"
_NAMES: Final = {
    b" ": "space", b"\x1b[D": "left", b"\x1b[C": "right", b"\x1bOD": "left", b"\x1bOC": "right", b"\x1b[H": "home",
    b"\x1b[F": "end", b"\x1b[1~": "home", b"\x1b[4~": "end", b"\x1bOH": "home", b"\x1bOF": "end", b"\x1b": "quit",
    b"q": "quit", b"[": "slower", b"]": "faster",
}  # fmt: skip


class Keys:
    """Key presses read from a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pressed = b""  # but not returned yet

    def wait(self, seconds: float) -> str | None:
        """The name, or else the letter, of the next key; None if none is pressed in time."""
        if not self._pressed:
            ready, _, _ = select.select([self._descriptor], [], [], max(seconds, 0.0))
            if not ready:
                return None
            self._pressed = os.read(self._descriptor, 64)
            if not self._pressed:
                return "quit"  # the terminal is gone
        size = next((size for size in (4, 3) if self._pressed[:size] in _NAMES), 1)
        key, self._pressed = self._pressed[:size], self._pressed[size:]
        return _NAMES.get(key, key.decode("ascii", "replace"))


@contextmanager
def terminal_keys(descriptor: int) -> Iterator[Keys]:
    """Key presses of the terminal with a file descriptor, without echo."""
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class Playback:
    """Position in a film, and the effects of keys on it."""

    def __init__(self, film: Film) -> None:
        self._moments = film.moments(FPS)
        self.position = film.opens_s * FPS  # frames of the game since the first
        self.speed = 1.0
        self.playing = True
        self.ended = False

    @property
    def length(self) -> int:
        return len(self._moments)

    @property
    def moment(self) -> int:
        return int(self._moments[int(self.position)])

    def advance(self, seconds: float) -> None:
        """Advance by some seconds; the playback ends with the last frame."""
        if self.playing:
            self._go(self.position + seconds * FPS * self.speed)
            self.ended |= self.position >= self.length - 1

    def press(self, key: str) -> None:
        if key == "quit":
            self.ended = True
        elif key == "space":
            self.playing = not self.playing
        elif key in ("left", "right"):
            step = 1 if key == "right" else -1
            self._go(self.position + step * (FPS if self.playing else 1))
        elif key in ("home", "end"):
            self._go(0 if key == "home" else self.length - 1)
            self.playing = self.playing and key == "home"
        elif key in ("faster", "slower"):
            at = SPEEDS.index(self.speed) + (1 if key == "faster" else -1)
            self.speed = SPEEDS[min(max(at, 0), len(SPEEDS) - 1)]

    def _go(self, position: float) -> None:
        self.position = min(max(position, 0.0), self.length - 1.0)


def play_terminal(film: Film, console: Console, keys: Keys, now: Callable[[], float] = time.monotonic) -> None:
    """Play until the end, or until a key ends it.

    Waiting for ``keys`` also paces the playback. ``now`` is a monotonic clock in seconds.
    """
    columns, rows = picture_size(console.width, console.height)
    painter = Painter(scene_of(film), (columns * SHARP, 2 * rows * SHARP), texts=False)
    playback = Playback(film)
    last = now()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while not playback.ended:
            picture = painter.picture(playback.moment).reduce(SHARP)
            live.update(_screen(film, playback, blocks(np.asarray(picture))), refresh=True)
            key = keys.wait(last + 1 / PICTURES_PER_S - now())
            if key is not None:
                playback.press(key)
            passed = now() - last
            last += passed
            playback.advance(passed)


def picture_size(columns: int, rows: int) -> tuple[int, int]:
    """Columns and rows of a picture of 16 to 9 in a terminal, in which a character is twice as high as wide."""
    width = min(columns, (rows - BELOW) * 32 // 9)
    width = max(width, SMALLEST[0])
    return width, max(width * 9 // 32, SMALLEST[1])


def blocks(pixels: NDArray[np.uint8]) -> Text:
    """Pixels [2 rows, columns, 3] as text, the upper of two in the letter's colour, the lower behind it."""
    text = Text(no_wrap=True)
    for number, row in enumerate(rows_of(pixels)):
        if number:
            text.append("\n")
        for length, upper, lower in row:
            text.append(UPPER_HALF * length, Style(color=_rgb(upper), bgcolor=_rgb(lower)))
    return text


def _rgb(colour: NDArray[np.uint8] | tuple[int, ...]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _screen(film: Film, playback: Playback, picture: Text) -> RenderableType:
    t = playback.moment
    seats = Table.grid(padding=(0, 2))
    for seat, player in enumerate(film.players[t]):
        percent = f"{np.nan_to_num(player['percent']):.0f}%"
        seats.add_row(
            Text(film.names[seat], Style(color=_rgb(COLOURS[seat]), bold=True), overflow="ellipsis", no_wrap=True),
            Text(f"{percent:>4}", "bold"),
            Text("●" * min(max(int(player["stocks"]), 0), 8), Style(color=_rgb(COLOURS[seat]))),
            Text(f"{action_name(int(player['action'])):<20}", no_wrap=True),
            Text(inputs(film.controllers[t, seat]), "cyan", no_wrap=True),
        )
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(width=1)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    clocks = f"{clock(playback.position / FPS)} / {clock(film.seconds)}  {playback.speed:g}×"
    bar = ProgressBar(total=playback.length - 1, completed=playback.position)
    line.add_row("▶" if playback.playing else "⏸", bar, clocks)
    return Group(picture, seats, line, Text(_HELP, "dim", no_wrap=True))


def inputs(controller: np.void) -> str:
    """A controller as text: directions of the sticks, buttons, and the trigger."""
    shown = [_arrow(float(controller[f"{stick}_x"]), float(controller[f"{stick}_y"])) for stick in ("main", "c")]
    held = [name for i, name in enumerate(BUTTONS) if int(controller["buttons"]) >> i & 1]
    trigger = float(np.nan_to_num(controller["shoulder"]))
    parts = [shown[0], f"c{shown[1]}" if shown[1] != "·" else "", *held, f"{trigger:.0%}" if trigger > 0 else ""]
    return " ".join(part for part in parts if part)


def _arrow(x: float, y: float) -> str:
    if not np.hypot(x, y) > 0.25:
        return "·"
    return _ARROWS[round(np.arctan2(y, x) / (np.pi / 4)) % len(_ARROWS)]
