"""Monotonic clocks, in seconds. Tests pass in a fake one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancels the call; has no effect after it has run."""


class Clock(Protocol):
    """A monotonic clock with timers."""

    def time(self) -> float:
        """Current time, in seconds from an arbitrary start."""

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` on the running loop after `delay_s` seconds."""


class MonotonicClock:
    """Real time: `time.monotonic` and the running loop's timers."""

    def time(self) -> float:
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay_s, callback)


class Deadline:
    """Calls `callback` after `delay_s` seconds, not counting time in which the event loop was blocked.

    The delay is split into slices, one timer each. A blocked loop uses up at most one slice, so other tasks get at
    least as many turns of the loop as there are slices.
    """

    SLICES = 16  # a power of two, so that the sum of the slices is exact

    def __init__(self, clock: Clock, delay_s: float, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._slice_s = delay_s / self.SLICES
        self._left = self.SLICES
        self._callback = callback
        self._timer = clock.call_later(self._slice_s, self._passed)

    def cancel(self) -> None:
        """Cancels the call; has no effect after it has run."""
        self._timer.cancel()

    def _passed(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._clock.call_later(self._slice_s, self._passed)
        else:
            self._callback()


async def sleep(clock: Clock, seconds: float) -> None:
    """Sleeps by `clock`; children pass `ctx.clock`."""
    alarm = asyncio.get_running_loop().create_future()
    timer = clock.call_later(seconds, lambda: None if alarm.done() else alarm.set_result(None))
    try:
        await alarm
    finally:
        timer.cancel()
