"""The protocol of everything that shows a run, and two reporters made of others.

Reporters write to terminals and files, which may block. The event loop therefore talks to a ``Feed``: it queues, and
a thread of its own delivers. Its ``run`` is a supervised child; a broken terminal costs one event and a restart.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from selfplay.errors import DiskError

logger = logging.getLogger(__name__)
Report = Any
"""What an iteration was like; each family of games has its own record of it, and reporters that know it."""
POLL_S = 0.1  # how long a cancelled feed may take to notice
FAILURES = 10  # in a row, until a reporter is given up
LAST_TRIES = 50  # to deliver what is left; each failure costs one event
LAST_S = 30.0  # for all of it; a terminal that hangs must not keep the program from ending


class Reporter(Protocol):
    """Something that shows a run to a person or a program."""

    def header(self, lines: Sequence[str]) -> None:
        """The configuration, once at the start."""
        ...

    def notice(self, text: str) -> None:
        """One line about something that happened."""
        ...

    def iteration(self, report: Report) -> None:
        """An iteration is complete."""
        ...

    def leaderboard(self, text: str) -> None:
        """The table of ratings, ready to print."""
        ...

    def close(self) -> None:
        """Write out what is pending and let go; closing twice is allowed."""
        ...


class Tee:
    """Tells several reporters, in order, all of them also where one raises; the first error is raised then.

    One that failed ``FAILURES`` times in a row is left out from then on: a terminal that was closed stays closed. A
    full disk may have room again, so that a DiskError counts for nothing; it is told once, to those who can show it.
    """

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._failures = dict.fromkeys(reporters, 0)
        self._refused: set[Reporter] = set()  # by a disk

    def header(self, lines: Sequence[str]) -> None:
        """See ``Reporter``."""
        self._tell(lambda reporter: reporter.header(lines))

    def notice(self, text: str) -> None:
        """See ``Reporter``."""
        self._tell(lambda reporter: reporter.notice(text))

    def iteration(self, report: Report) -> None:
        """See ``Reporter``."""
        self._tell(lambda reporter: reporter.iteration(report), everyone_writes=True)

    def leaderboard(self, text: str) -> None:
        """See ``Reporter``."""
        self._tell(lambda reporter: reporter.leaderboard(text))

    def close(self) -> None:
        """See ``Reporter``."""
        self._tell(lambda reporter: reporter.close())

    def _tell(self, event: Callable[[Reporter], None], *, everyone_writes: bool = False) -> None:
        first: Exception | None = None
        told: list[str] = []
        for reporter, failures in self._failures.items():
            if failures >= FAILURES:
                continue
            self._failures[reporter] += 1
            try:
                event(reporter)
            except DiskError as error:
                self._failures[reporter] = 0
                if reporter not in self._refused:
                    self._refused.add(reporter)
                    told.append(f"DISK: {error}; training goes on, and it is tried again")
            except Exception as error:
                first = first or error
            else:
                self._failures[reporter] = 0
                if everyone_writes:
                    self._refused.discard(reporter)
        for text in told:
            self._tell(lambda reporter, text=text: reporter.notice(text))  # type: ignore[misc]
        if first is not None:
            raise first


class Feed:
    """A reporter that never blocks and never raises: events are queued, ``run`` delivers them to the real one.

    The queue is bounded. When it is full the newest event is dropped and counted in ``dropped``.
    """

    def __init__(self, reporter: Reporter, limit: int = 1000) -> None:
        self.dropped = 0
        self._reporter = reporter
        self._events: queue.Queue[Callable[[], None]] = queue.Queue(limit)
        self._closing = threading.Event()
        self._delivering = threading.Lock()  # a thread that was cancelled may still be at its last event

    def header(self, lines: Sequence[str]) -> None:
        """See ``Reporter``."""
        self._put(partial(self._reporter.header, tuple(lines)))

    def notice(self, text: str) -> None:
        """See ``Reporter``."""
        self._put(partial(self._reporter.notice, text))

    def iteration(self, report: Report) -> None:
        """See ``Reporter``."""
        self._put(partial(self._reporter.iteration, report))

    def leaderboard(self, text: str) -> None:
        """See ``Reporter``."""
        self._put(partial(self._reporter.leaderboard, text))

    def close(self) -> None:
        """Let ``run`` deliver what is queued, close the real reporter and return."""
        self._closing.set()

    async def run(self) -> None:
        """Deliver until closed. Raises what the reporter raised; run again to go on with the next event."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[None] = loop.create_future()
        cancelled = threading.Event()
        # A daemon: a terminal that hangs must not keep the program from ending.
        target = partial(self._deliver, cancelled, loop, finished)
        threading.Thread(target=target, name="report", daemon=True).start()
        try:
            await finished
        finally:
            cancelled.set()

    async def finish(self) -> None:
        """Close, and deliver what is queued as far as the reporter can be told; one that hangs is left behind."""
        self.close()
        last = asyncio.create_task(self._deliver_the_rest())
        await asyncio.wait([last], timeout=LAST_S)
        last.cancel()

    async def _deliver_the_rest(self) -> None:
        for _ in range(LAST_TRIES):
            try:
                return await self.run()
            except (Exception, SystemExit):
                logger.debug("a last event could not be reported", exc_info=True)

    def _put(self, event: Callable[[], None]) -> None:
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def _deliver(
        self, cancelled: threading.Event, loop: asyncio.AbstractEventLoop, finished: asyncio.Future[None]
    ) -> None:
        error: BaseException | None = None
        try:
            with self._delivering:
                while not cancelled.is_set():
                    try:
                        event = self._events.get(timeout=POLL_S)
                    except queue.Empty:
                        if self._closing.is_set():
                            self._reporter.close()
                            break
                    else:
                        event()
        except BaseException as caught:  # whatever it is, the supervisor of ``run`` decides what it costs
            error = caught
        if not loop.is_closed():
            loop.call_soon_threadsafe(_finish, finished, error)


def _finish(finished: asyncio.Future[None], error: BaseException | None) -> None:
    if finished.done():
        return
    if error is None:
        finished.set_result(None)
    else:
        finished.set_exception(error)
