"""Time for tests: it costs nothing and passes only when nothing else can happen."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class FakeTimer:
    """A pending call of a FakeClock."""

    def __init__(self, due: float, callback: Callable[[], None]) -> None:
        self.due = due
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """Monotonic time that costs nothing: it jumps to the next timer when the event loop has nothing else to do.

    Run tests with `clock.run(main())`, which gives `main` an event loop that tells the clock when it is idle. On any
    other loop time passes by `advance` alone.
    """

    def __init__(self, start: float = 1000.0) -> None:
        self._now = start
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._order = itertools.count()
        self._idle: list[asyncio.Future[None]] = []  # wait until the loop is idle
        self._quiet: list[asyncio.Future[None]] = []  # wait until it is idle and no timer is left

    def time(self) -> float:
        return self._now

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self._now + max(delay_s, 0.0), callback)
        heapq.heappush(self._timers, (timer.due, next(self._order), timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Lets time pass and calls what falls due, in order."""
        end = self._now + seconds
        while (due := self._next_due()) is not None and due <= end:
            self._jump()
        self._now = end

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Runs `main` as asyncio.run does, on a loop whose idle moments move this clock."""
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_IdleSelector(self))) as runner:
            return runner.run(main)

    async def idle(self) -> None:
        """Returns when everything that can happen now has happened; time stands still."""
        await self._wait(self._idle)

    async def settle(self) -> None:
        """Returns when nothing more happens by itself, however much time must pass for that."""
        await self._wait(self._quiet)

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self.call_later(seconds, lambda: woken.done() or woken.set_result(None))
        await woken

    def on_idle(self) -> bool:
        """Called by the loop when it has nothing to do; returns whether that changed."""
        if self._idle:
            _wake(self._idle)
        elif self._next_due() is not None:
            self._jump()
        elif self._quiet:
            _wake(self._quiet)
        else:
            return False
        return True

    async def _wait(self, waiters: list[asyncio.Future[None]]) -> None:
        future = asyncio.get_running_loop().create_future()
        waiters.append(future)
        await future

    def _next_due(self) -> float | None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _jump(self) -> None:
        due, _, timer = heapq.heappop(self._timers)
        self._now = max(self._now, due)
        if timer.callback is not None:
            timer.callback()


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    woken, waiters[:] = list(waiters), []
    for future in woken:
        if not future.done():
            future.set_result(None)


class _IdleSelector(selectors.DefaultSelector):
    """A selector that asks a FakeClock for something to do before it would wait."""

    DEADLOCK_S = 10.0

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0) or self._clock.on_idle():
            return events
        events = super().select(self.DEADLOCK_S if timeout is None else timeout)
        if not events and timeout is None:
            raise RuntimeError(f"nothing happened for {self.DEADLOCK_S} s and no timer is set: a deadlock")
        return events
