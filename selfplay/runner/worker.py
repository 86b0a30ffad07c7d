"""A thread of our own for blocking work, awaited from the event loop.

The loop's default executor is unfit: a thread of it that hangs can be neither dropped nor waited for, and blocks the
program's exit. A ``Worker`` is a daemon thread; one that hangs is abandoned and counted, and the program still ends.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from selfplay.errors import out_of_memory

T = TypeVar("T")


class Worker:
    """Runs one callable at a time, in order. All methods are called from the loop that created it."""

    abandoned = 0  # threads of this process that were left behind hanging, those that have ended since among them
    _left: ClassVar[list[threading.Thread]] = []

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def submit(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:  # noqa: ANN401
        """Run ``function(*arguments)`` in the thread; the future belongs to the loop."""
        future: asyncio.Future[T] = self._loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)
                future.exception()  # counts as retrieved: asyncio does not log it if there is no waiter any more

        def job() -> None:
            result, failure = None, None
            try:
                result = function(*arguments)
            except BaseException as error:
                failure = out_of_memory(error) or error
            with suppress(RuntimeError):  # the loop has been closed
                self._loop.call_soon_threadsafe(settle, result, failure)

        self._jobs.put(job)
        return future

    def close(self) -> None:
        """End the thread after its current job. Does not wait."""
        self._jobs.put(None)

    def abandon(self) -> None:
        """Count a thread that hangs as left behind. It may still be given what to do when its job ends, if ever."""
        type(self).abandoned += 1
        self._left.append(self._thread)

    @classmethod
    def hanging(cls) -> int:
        """Threads of this process that were left behind and still hang."""
        cls._left[:] = [thread for thread in cls._left if thread.is_alive()]
        return len(cls._left)
