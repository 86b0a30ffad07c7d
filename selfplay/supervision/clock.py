"""Time is passed in, so that tests need no waiting; always monotonic, in seconds."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Takes the call back; harmless once it has happened."""


class Clock(Protocol):
    """What supervision asks of time. Never goes backwards, whatever the wall clock does."""

    def time(self) -> float:
        """Now, in seconds from an arbitrary start."""

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` on the running loop after `delay_s` seconds."""


class MonotonicClock:
    """Real time: `time.monotonic` and the running loop's timers."""

    def time(self) -> float:
        """Now, in seconds from an arbitrary start."""
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Calls `callback` on the running loop after `delay_s` seconds."""
        return asyncio.get_running_loop().call_later(delay_s, callback)


async def sleep(clock: Clock, seconds: float) -> None:
    """Sleeps by `clock`; for children, which find theirs in `ctx.clock`."""
    alarm = asyncio.get_running_loop().create_future()
    timer = clock.call_later(seconds, lambda: None if alarm.done() else alarm.set_result(None))
    try:
        await alarm
    finally:
        timer.cancel()
