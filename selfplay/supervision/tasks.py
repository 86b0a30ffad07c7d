"""Creates tasks and waits for them.

asyncio keeps only weak references to tasks. TaskGroup and `wait_for` hang on a task that suppresses its cancellation,
and `wait_for` can lose cancellations on Python 3.11. So this module keeps strong references and uses `asyncio.wait`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, TypeVar

from selfplay.supervision.clock import Deadline

if TYPE_CHECKING:
    from selfplay.supervision.clock import Clock

T = TypeVar("T")
LAST_S = 2.0  # grace for tasks that are cancelled at the end of the program
_alive: set[asyncio.Task[object]] = set()


def spawn(coroutine: Coroutine[object, None, T], name: str) -> asyncio.Task[T]:
    """Starts a task and keeps a reference until it is done."""
    task: asyncio.Task[T] = asyncio.get_running_loop().create_task(coroutine, name=name)
    _alive.add(task)
    task.add_done_callback(_alive.discard)
    return task


async def outlast(task: asyncio.Task[None]) -> None:
    """Waits for `task`; a cancellation of the caller is delayed until it is done."""
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def wait_any(clock: Clock, futures: Iterable[asyncio.Future[T]], timeout_s: float = math.inf) -> None:
    """Returns when one of `futures` is done or the `Deadline` of `timeout_s` has passed; cancels none of them."""
    waited = set(futures)
    if math.isinf(timeout_s):
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return
    alarm: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    timer = Deadline(clock, timeout_s, alarm.cancel)
    try:
        await asyncio.wait({*waited, alarm}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()


def run(main: Coroutine[object, None, T]) -> T:
    """Like `asyncio.run`, but returns even if tasks suppress their cancellation, as abandoned children do.

    Such a task has `LAST_S` seconds. Then the loop is closed and the task never runs again.
    """
    with asyncio.Runner() as runner:
        try:
            return runner.run(main)
        finally:
            runner.run(_leave())


async def _leave() -> None:
    """Cancels all other tasks and unregisters those that do not end, since the runner would wait for them forever."""
    if not (others := asyncio.all_tasks() - {asyncio.current_task()}):
        return
    for task in others:
        task.cancel()
    try:
        await asyncio.wait(others, timeout=LAST_S)
    finally:  # also after Ctrl-C
        for task in others:
            if not task.done():
                asyncio._unregister_task(task)
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # already reported by the tree
