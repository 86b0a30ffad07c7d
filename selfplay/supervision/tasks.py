"""The only place that creates tasks and waits for them.

asyncio keeps only weak references to tasks, TaskGroup and `wait_for` wait for ever on a task that swallows its
cancellation, and `wait_for` can lose cancellations on Python 3.11. Hence strong references, and `asyncio.wait` alone.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from selfplay.supervision.clock import Clock

T = TypeVar("T")
_alive: set[asyncio.Task[object]] = set()


def spawn(coroutine: Coroutine[object, None, T], name: str) -> asyncio.Task[T]:
    """Starts a task and holds it until it is done, however long nobody else does."""
    task: asyncio.Task[T] = asyncio.get_running_loop().create_task(coroutine, name=name)
    _alive.add(task)
    task.add_done_callback(_alive.discard)
    return task


async def wait_any(clock: Clock, futures: Iterable[asyncio.Future[None]], timeout_s: float = math.inf) -> None:
    """Returns when one of `futures` is done or `timeout_s` seconds of `clock` have passed; cancels none of them."""
    waited = set(futures)
    if math.isinf(timeout_s):
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return
    alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_later(timeout_s, lambda: None if alarm.done() else alarm.set_result(None))
    try:
        await asyncio.wait({*waited, alarm}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
