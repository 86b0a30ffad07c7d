"""A pool of threads that works until the process ends, also after the main thread has ended."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Jobs = queue.SimpleQueue[Callable[[], None] | None]


class ThreadPool(Executor):
    """Runs calls in daemon threads, which start with the first one and call ``begin`` first.

    ``concurrent.futures.ThreadPoolExecutor`` refuses calls once the main thread has ended, although other threads, such
    as one that trains, go on.
    """

    def __init__(self, count: int, name: str, begin: Callable[[], object] = lambda: None) -> None:
        self._jobs: Jobs = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=_work, args=(self._jobs, begin), name=f"{name}_{i}", daemon=True)
            for i in range(count)
        ]
        self._started = False
        self._end = weakref.finalize(self, _end, self._jobs, count)  # a pool that is deleted ends its threads
        self._end.atexit = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` in a free thread."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        self._jobs.put(job)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after the calls that were submitted."""
        del cancel_futures
        self._end()
        for thread in self._threads if wait and self._started else ():
            thread.join()


def _work(jobs: Jobs, begin: Callable[[], object]) -> None:
    begin()
    while (job := jobs.get()) is not None:
        job()
        del job  # with what it refers to


def _end(jobs: Jobs, count: int) -> None:
    for _ in range(count):
        jobs.put(None)
