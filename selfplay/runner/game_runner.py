"""The supervised child that works on a queue: opens something in a thread of its own, then does job after job.

An exception, a killed game process or a hang ends the child; its supervisor starts another, which opens it again and
takes over the job that is still in the queue. Nothing of an unfinished job is ever delivered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from selfplay.errors import RunnerError
from selfplay.runner.worker import Worker
from selfplay.supervision import wait_any

if TYPE_CHECKING:
    from selfplay.runner.work_queue import WorkQueue
    from selfplay.supervision import Clock, Context


class Resource(Protocol):
    """Object that a runner opens and works on."""

    def cancel(self) -> None:
        """Make blocking work in progress end soon with an error. Called from another thread."""

    def kill(self) -> bool:
        """End processes by force; return True if that frees a thread that hangs in the resource. Must not block."""

    def close(self) -> None:
        """Release all resources; called in the worker's thread."""


R = TypeVar("R", bound=Resource)
T = TypeVar("T")


class Turns:
    """Limits how many runners do something expensive at once, and for how long one keeps the others waiting."""

    def __init__(self, at_once: int, longest_s: float) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._longest_s = longest_s

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        await self._free.acquire()
        kept = [self._free]

        def give_back() -> None:
            while kept:
                kept.pop().release()

        timer = asyncio.get_running_loop().call_later(self._longest_s, give_back)
        try:
            yield
        finally:
            timer.cancel()
            give_back()


@dataclass(frozen=True, slots=True)
class SlowOpening:
    """Second stage of a slow opening. The runner reports ready before it, so that its supervisor does not wait."""

    turns: Turns
    prepare: Callable[[Any], bool | None]
    """Called with the resource in the runner's thread; returns False to be called again."""
    within_s: float  # deadline of a call


@dataclass(frozen=True, slots=True)
class GameRunner(Generic[R]):
    """Its ``run`` is the child function of runners that share a work queue."""

    queue: WorkQueue[R]
    open_resource: Callable[[str, int], R]  # called in the runner's thread with (id, incarnation)
    opening: SlowOpening | None = None  # how, where that takes long; None: the runner is ready once it is done

    async def run(self, ctx: Context) -> None:
        worker = Worker(ctx.id)
        opened: list[R] = []  # filled in the thread: what opens after we were stopped is closed too

        def open_resource() -> R:
            opened.append(self.open_resource(ctx.id, ctx.incarnation))
            return opened[0]

        def close_resource() -> None:
            for resource in opened:
                resource.close()

        try:
            if self.opening is None:
                resource = await worker.submit(open_resource)
                ctx.ready()
            else:
                ctx.ready()
                async with self.opening.turns.turn():
                    resource = await worker.submit(open_resource)
                    limit = self.opening.within_s
                    late = f"{ctx.id} did not open within {limit:g} s"
                    while await _in_time(ctx.clock, worker, resource, self.opening.prepare, limit, late) is False:
                        pass
            while True:
                await self._work(ctx, worker, resource)
                ctx.prove()
        finally:
            self.queue.leave(ctx.id)
            for resource in opened:
                resource.cancel()
            worker.submit(close_resource)
            worker.close()

    async def _work(self, ctx: Context, worker: Worker, resource: R) -> None:
        runner = ctx.id
        job = await self.queue.next_job(runner)
        started = time.monotonic()
        timeout = self.queue.timeout_s
        late = f"{runner} gave no segment within {timeout:g} s and is replaced (--collect-timeout sets the limit)"
        if job.progress is not None:
            late = f"no reply came to {runner} within {timeout:g} s; it is replaced"
        result = await _in_time(ctx.clock, worker, resource, job.function, timeout, late, job.progress or (lambda _: 0))
        self.queue.deliver(runner, job, result, time.monotonic() - started)


async def _in_time(
    clock: Clock,
    worker: Worker,
    resource: R,
    function: Callable[[R], T],
    limit_s: float,
    late: str,
    progress: Callable[[R], int] = lambda _: 0,
) -> T:
    """Run a function on the resource in the worker's thread. The time limit restarts as long as ``progress`` grows.

    While the whole process is stopped, as by Ctrl-Z, at most a sixteenth of the limit passes.
    RunnerError with the message ``late`` if it hung, and was killed or its thread abandoned.
    """
    done, seen = worker.submit(function, resource), -1
    while not done.done():
        if (now := progress(resource)) == seen:
            if not resource.kill():
                worker.abandon()
            raise RunnerError(late)
        seen = now
        await wait_any(clock, [done], limit_s)
    return done.result()
