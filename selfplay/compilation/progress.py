"""Compiles the rules of a game before anything with a deadline plays it, and says how long it takes."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selfplay.games.kind import GameKind

EVERY_S: Final = 15.0  # between two lines about the progress
INTERRUPTED: Final = 130
RANGE: Final = "usually 20 to 60 s, a few minutes on a busy machine"


class Compilation:
    """Compiles in a daemon thread, so that the thread that waits can answer a signal at once.

    Numba gives up the GIL often enough. The thread cannot be stopped, and Python must not be torn down under it: a
    program that ends meanwhile ends without that.
    """

    def __init__(self, prepare: Callable[[], None]) -> None:
        self._prepare = prepare
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._started = time.monotonic()
        atexit.register(self._end_at_once)
        threading.Thread(target=self._work, name="compile", daemon=True).start()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds; return True if it is done. Raises the error of the compilation, if any."""
        if not self._done.wait(seconds):
            return False
        atexit.unregister(self._end_at_once)
        if self._error is not None:
            raise self._error
        return True

    def _work(self) -> None:
        try:
            self._prepare()
        except BaseException as error:  # raised by ``wait``
            self._error = error
        self._done.set()

    def _end_at_once(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # it is closed
                stream.flush()
        os._exit(INTERRUPTED)


def compile_rules(game: GameKind, notify: Callable[[str], object] | None = None) -> None:
    """Compile the rules of a game unless they are compiled; ``notify`` is called with lines about it. Blocks."""
    if game.prepare is None or game.starts_at_once():
        return
    why = f"for this machine, the first time only: {RANGE}"
    tell_progress(Compilation(game.prepare).wait, "the game rules", why, notify)


def tell_progress(
    wait: Callable[[float], bool], what: str, why: str, notify: Callable[[str], object] | None = None
) -> None:
    """Tell that ``what`` is compiled, how long it has taken so far, and the end. Blocks.

    ``wait`` waits so many seconds at most and says whether it is done. ``why`` ends the first line.
    """
    notify = notify or _to_stderr
    started = time.monotonic()
    notify(f"Compiling {what} {why}")
    while not wait(EVERY_S):
        notify(f"Compiling {what}: {time.monotonic() - started:.0f} s so far")
    notify(f"Compiled {what} in {time.monotonic() - started:.0f} s")


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
