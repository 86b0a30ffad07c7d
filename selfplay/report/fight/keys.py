"""Key presses of a terminal."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

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
