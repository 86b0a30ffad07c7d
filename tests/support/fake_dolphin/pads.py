"""Controllers that come through named pipes, in Dolphin's text protocol.

Lines: ``PRESS A``, ``RELEASE A``, ``SET MAIN 0.5 1.0``, ``SET L 0.3``, ``FLUSH``. What is no such line is passed over.
"""

from __future__ import annotations

import math
import os
import select
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.games.errors import GameError
from selfplay_melee.controller import BUTTONS

if TYPE_CHECKING:
    from tests.support.fake_dolphin.live import Controller

STICK_RANGE: Final = 254  # positions that Dolphin makes of a pipe's 0..1
STICK_RIM: Final = 80  # the game looks no further
TRIGGER_RANGE: Final = 255
TRIGGER_RIM: Final = 140
LOOK_MS: Final = 20  # between two looks at the spectators while nothing is written

# One number has the bits of all buttons: first those of ``controller.BUTTONS``, then these, as files record them.
_SHIFT: Final = len(BUTTONS)
_RECORDED: Final = {"START": 0x1000, "D_LEFT": 0x1, "D_RIGHT": 0x2, "D_DOWN": 0x4}
_BITS: Final = {name: 1 << i for i, name in enumerate(BUTTONS)} | {
    name: bit << _SHIFT for name, bit in _RECORDED.items()
}
_STICKS: Final = {"MAIN": 0, "C": 2}
_TRIGGERS: Final = {"L": 4, "R": 5}
_FLUSH: Final = b"FLUSH"
_ALL: Final = 1 << 16  # bytes that a pipe holds at most


class Pad:
    """One controller: what its pipe said last, FLUSH or not."""

    def __init__(self) -> None:
        self._held = 0
        self._before = 0  # held at the frame before
        self._fresh = 0
        self._axes = [0.0] * 6  # main x, y, c x, y, left and right trigger
        self._rest = b""

    @property
    def stick(self) -> tuple[float, float]:
        """The main stick, -1..1."""
        return self._axes[0], self._axes[1]

    @property
    def controller(self) -> Controller:
        """The values of a CONTROLLER record."""
        main_x, main_y, c_x, c_y, left, right = self._axes
        return main_x, main_y, c_x, c_y, max(left, right), self._held & ((1 << _SHIFT) - 1)

    @property
    def more_buttons(self) -> int:
        """Those that a CONTROLLER does not have, as files record them."""
        return self._held >> _SHIFT

    def holds(self, *names: str) -> bool:
        """Whether all these buttons are down."""
        return all(self._held & _BITS[name] for name in names)

    def pressed(self, name: str) -> bool:
        """Whether a button is down that was up at the frame before."""
        return bool(self._fresh & _BITS[name])

    def feed(self, data: bytes) -> bool:
        """Obey bytes as they come, at once; whether the last whole line of them is a FLUSH."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._apply(line)
        return lines[-1:] == [_FLUSH]

    def latch(self) -> None:
        """A frame begins with what is held now."""
        self._fresh = self._held & ~self._before
        self._before = self._held

    def _apply(self, line: bytes) -> None:
        press, release, values = _parse(line)
        self._held = (self._held | press) & ~release
        for axis, value in values:
            self._axes[axis] = value


@lru_cache(maxsize=1 << 14)
def _parse(line: bytes) -> tuple[int, int, tuple[tuple[int, float], ...]]:
    """Bits that a line presses, bits that it releases, and axes with their values."""
    match line.decode("ascii", "replace").split():
        case ["PRESS", name] if name in _BITS:
            return _BITS[name], 0, ()
        case ["RELEASE", name] if name in _BITS:
            return 0, _BITS[name], ()
        case ["SET", name, x, y] if name in _STICKS:
            first = _STICKS[name]
            return 0, 0, tuple((first + i, stick(v)) for i, v in enumerate(map(_number, (x, y))) if v is not None)
        case ["SET", name, x] if name in _TRIGGERS and (value := _number(x)) is not None:
            return 0, 0, ((_TRIGGERS[name], trigger(value)),)
    return 0, 0, ()


def _number(text: str) -> float | None:
    """A number from 0 to 1, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else None


def stick(value: float) -> float:
    """What the game sees, -1..1, of one axis of a pipe, 0..1: whole positions, of which there are 80 to a side."""
    raw = math.floor((value - 0.5) * STICK_RANGE)
    return min(max(raw, -STICK_RIM), STICK_RIM) / STICK_RIM


def trigger(value: float) -> float:
    """What the game sees, 0..1, of a trigger of a pipe, 0..1: whole positions, of which 140 are all."""
    return min(math.floor(value * TRIGGER_RANGE), TRIGGER_RIM) / TRIGGER_RIM


class _Pipe:
    """The pipe of a port, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.pad = Pad()
        self.gone = False  # whether its writer has closed it
        self._path = path
        self._poll = select.poll()
        self._open()

    def _open(self) -> None:
        try:
            if not self._path.is_fifo():
                raise GameError(f"{self._path} is no named pipe")
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise GameError(f"{self._path}: {error.strerror}") from error
        self._poll.register(self._descriptor, select.POLLIN)

    def read(self, timeout_ms: int = 0) -> bool | None:
        """Obey all that is there; whether its last line is a FLUSH, None where there was nothing."""
        ready = self._poll.poll(timeout_ms)
        if not ready:
            return None
        if ready[0][1] & select.POLLIN:
            self.gone = False
            return self.pad.feed(os.read(self._descriptor, _ALL))
        self._poll.unregister(self._descriptor)  # the last writer has closed it; opened again, the pipe is silent
        os.close(self._descriptor)
        self.gone = True
        self._open()
        return None


class Pipes:
    """The pipes of all ports, read as Dolphin's ``Pipes.cpp`` does: one after the other, and each to its end.

    So several FLUSH lines that wait in a pipe count as one, and what was written last is what is held.

    Args:
        paths: By port.
        blocking: Whether a frame waits for a FLUSH.
        first_only: Whether it waits for that of the first pipe alone, as builds before Ishiiruka's #432 do.

    Raises:
        GameError: one is not there, or is no pipe.
    """

    def __init__(self, paths: Mapping[int, Path], *, blocking: bool, first_only: bool = False) -> None:
        self._pipes = {port: _Pipe(path) for port, path in paths.items()}
        self.pads = {port: pipe.pad for port, pipe in self._pipes.items()}
        pipes = list(self._pipes.values()) if blocking else []
        self._waited_for = pipes[:1] if first_only else pipes

    def wait(self, meanwhile: Callable[[], None]) -> bool:
        """Read what is the input of the next frame; whether that took a flush, and so keeps step with the writers.

        A pipe without a writer is waited for until it had one; a controller whose writer has gone stays as it was.
        Where pipes do not block, nothing is waited for.

        Args:
            meanwhile: Called every few milliseconds.
        """
        for pipe in self._pipes.values():
            flushed = pipe.read()
            while pipe in self._waited_for and not flushed and not pipe.gone:
                flushed = pipe.read(LOOK_MS)
                if flushed is None:
                    meanwhile()
            pipe.pad.latch()
        return not all(pipe.gone for pipe in self._waited_for)

    def look(self) -> None:
        """Read without waiting, as Dolphin does several times within a frame: a FLUSH too many is used up here."""
        for pipe in self._pipes.values():
            pipe.read()
