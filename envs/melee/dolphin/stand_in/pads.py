"""Controllers that come through named pipes, in Dolphin's text protocol.

Lines: ``PRESS A``, ``RELEASE A``, ``SET MAIN 0.5 1.0``, ``SET L 0.3``, ``FLUSH``. What is no such line is passed over.
"""

from __future__ import annotations

import math
import os
import select
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from envs.errors import GameError
from envs.melee.controller import BUTTONS

if TYPE_CHECKING:
    from envs.melee.slp.live import Controller

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


class Pad:
    """One controller, as it was at the last flush."""

    def __init__(self) -> None:
        self._held = 0
        self._fresh = 0
        self._axes = [0.0] * 6  # main x, y, c x, y, left and right trigger
        self._lines: deque[bytes] = deque()
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
        """Whether a button went down since the flush before."""
        return bool(self._fresh & _BITS[name])

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(lines)

    def take(self) -> bool:
        """Apply what was written up to the next flush; whether there was one."""
        lines = self._lines
        if _FLUSH not in lines:
            return False
        before = self._held
        while (line := lines.popleft()) != _FLUSH:
            self._apply(line)
        self._fresh = self._held & ~before
        return True

    def take_all(self) -> None:
        """Apply everything that was written so far, flushed or not."""
        before = self._held
        while self._lines:
            self._apply(self._lines.popleft())
        self._fresh = self._held & ~before

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


class Pipes:
    """The pipes of all ports, opened for reading.

    Raises:
        GameError: one is not there, or is no pipe.
    """

    def __init__(self, paths: Mapping[int, Path], *, blocking: bool) -> None:
        self.pads = {port: Pad() for port in paths}
        self._paths = dict(paths)
        self._blocking = blocking
        self._poll = select.poll()
        self._ports: dict[int, int] = {}  # by file descriptor
        self._gone: set[int] = set()  # ports whose writer has closed the pipe
        for port in paths:
            self._open(port)

    def _open(self, port: int) -> None:
        path = self._paths[port]
        try:
            if not path.is_fifo():
                raise GameError(f"{path} is no named pipe")
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise GameError(f"{path}: {error.strerror}") from error
        self._ports[descriptor] = port
        self._poll.register(descriptor, select.POLLIN)

    def wait(self, meanwhile: Callable[[], None]) -> bool:
        """Read what is the input of the next frame; whether that took a flush, and so keeps step with the writers.

        A pipe without a writer is waited for until it had one; a controller whose writer has gone stays as it was.
        Where pipes do not block, nothing is waited for.

        Args:
            meanwhile: Called every few milliseconds.
        """
        if not self._blocking:
            self._read(0)
            for pad in self.pads.values():
                pad.take_all()
            return False
        waited = False
        waiting = {port for port, pad in self.pads.items() if not pad.take()}
        self._read(0)  # a writer may have come back, or gone
        while waiting := {port for port in waiting if not self.pads[port].take()} - self._gone:
            waited = True
            if not self._read(LOOK_MS):
                meanwhile()
        return waited or len(self._gone) < len(self.pads)

    def _read(self, timeout_ms: int) -> bool:
        """Read what has been written; whether there was anything."""
        ready = self._poll.poll(timeout_ms)
        for descriptor, event in ready:
            port = self._ports[descriptor]
            if event & select.POLLIN:
                self._gone.discard(port)
                self.pads[port].feed(os.read(descriptor, 1 << 16))
            else:  # the last writer has closed it; opened anew, the pipe is silent until there is another
                self._poll.unregister(descriptor)
                del self._ports[descriptor]
                os.close(descriptor)
                self._gone.add(port)
                self._open(port)
        return bool(ready)
