"""Children for tests, a listener that keeps what a tree reports, and the decorator that gives a test fake time."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from tests.support.fake_clock import FakeClock

if TYPE_CHECKING:
    from selfplay.supervision import Context, Report

R = TypeVar("R")


def fake_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs an async test on a FakeClock, which it gets as its first argument."""

    @functools.wraps(test)
    def run(**arguments: object) -> None:
        clock = FakeClock()
        clock.run(test(clock, **arguments))

    signature = inspect.signature(test)
    run.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    del run.__wrapped__
    return run


async def forever(ctx: Context) -> None:
    """Well-behaved: ready at once, works until it is cancelled."""
    ctx.ready()
    await asyncio.get_running_loop().create_future()


async def never_ready(ctx: Context) -> None:
    """Hangs while it starts."""
    await asyncio.get_running_loop().create_future()


def crashing(error: Callable[[], BaseException] = RuntimeError) -> Callable[[Context], Coroutine[Any, Any, None]]:
    """A child that is ready and raises at once."""

    async def child(ctx: Context) -> None:
        ctx.ready()
        raise error()

    return child


async def until(happened: Callable[[], object], turns: int = 1000) -> None:
    """Lets the loop turn until `happened()`, in places where it never becomes idle."""
    for _ in range(turns):
        if happened():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")


class Remote:
    """Well-behaved children that end when the test says so; `log` has their starts and stops in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.starts: dict[str, list[BaseException]] = {}  # what the next starts of an id raise
        self._ends: dict[str, asyncio.Future[BaseException | None]] = {}

    async def __call__(self, ctx: Context) -> None:
        if self.starts.get(ctx.id):
            self.log.append(f"no start {ctx.id}")
            raise self.starts[ctx.id].pop(0)
        end = self._ends[ctx.id] = asyncio.get_running_loop().create_future()
        self.log.append(f"start {ctx.id}")
        ctx.ready()
        try:
            error = await end
        except asyncio.CancelledError:
            self.log.append(f"stop {ctx.id}")
            raise
        self.log.append(f"end {ctx.id}")
        if error is not None:
            raise error

    def end(self, id: str, error: BaseException | None = None) -> None:
        """The newest incarnation of `id` returns, or raises `error`."""
        self._ends[id].set_result(error)

    def crash(self, id: str) -> None:
        self.end(id, RuntimeError("boom"))


class Stubborn:
    """Swallows every cancellation until `release()`, like a thread that cannot be interrupted."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._released = asyncio.Event()

    async def __call__(self, ctx: Context) -> None:
        ctx.ready()
        self.log.append(f"start {ctx.id}")
        while not self._released.is_set():
            try:
                await self._released.wait()
            except asyncio.CancelledError as cancelled:
                self.log.append(f"{cancelled.args[0]} {ctx.id}")

    def release(self) -> None:
        self._released.set()


class Listener:
    """Keeps reports."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def __call__(self, report: Report) -> None:
        self.reports.append(report)

    def of(self, kind: type[R]) -> list[R]:
        return [report for report in self.reports if isinstance(report, kind)]
