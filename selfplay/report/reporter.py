"""The ``Reporter`` protocol, and two reporters that wrap others.

Reporters write to terminals and files, which may block. The event loop therefore uses a ``Feed``, which queues events
and delivers them in a thread. Its ``run`` is a supervised child: a broken terminal costs one event and a restart.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from selfplay.errors import DiskError, says_full
from selfplay.report.trackers.tracking import Tracking

logger = logging.getLogger(__name__)
Report = Any  # the report of an iteration; its type depends on the trainer
POLL_S = 0.1  # maximum delay until a cancelled feed stops
DISK = "DISK: "  # a notice about what could not be saved
SPACE = "Disk: there is space again"
FAILURES = 10  # consecutive failures until a reporter is dropped
LAST_TRIES = 50  # attempts to deliver the rest; each failure loses one event
LAST_S = 30.0  # limit for all attempts, so that a hanging terminal does not block the exit


class Reporter(Protocol):
    """Receives the events of a run."""

    def header(self, lines: Sequence[str]) -> None:
        """Show the configuration, once at the start."""

    def notice(self, text: str) -> None:
        """Show one line about an event."""

    def playing(self, text: str) -> None:
        """Show how far the current iteration is; replaces what was shown before."""

    def iteration(self, report: Report) -> None: ...

    def rated(self, report: Report) -> None:
        """The last report again, with a rating that was made after it."""

    def leaderboard(self, text: str) -> None: ...

    def close(self) -> None:
        """Flush and close; closing twice is allowed."""


class Forwarding(ABC):
    """Hands events on, by the names of the methods of ``Reporter``."""

    def header(self, lines: Sequence[str]) -> None:
        self._forward("header", tuple(lines))

    def notice(self, text: str) -> None:
        self._forward("notice", text)

    def playing(self, text: str) -> None:
        self._forward("playing", text)

    def iteration(self, report: Report) -> None:
        self._forward("iteration", report)

    def rated(self, report: Report) -> None:
        self._forward("rated", report)

    def leaderboard(self, text: str) -> None:
        self._forward("leaderboard", text)

    @abstractmethod
    def _forward(self, event: str, *content: object) -> None: ...


class Tee(Forwarding):
    """Forwards events to several reporters in order. If some raise, the first error is raised at the end.

    A reporter that failed ``FAILURES`` times in a row is dropped. A DiskError does not count, since the disk may have
    space again later; the first is reported as a notice, the next one after all have written again. A full disk has one
    notice, of these reporters or of another, and ``SPACE`` follows when all have written again.
    """

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._failures = dict.fromkeys(reporters, 0)
        self._refused: set[Reporter] = set()  # by the disk
        self._unsaved = False  # as notices said, because of a full disk
        self._told = False  # of a full disk

    def close(self) -> None:
        self._forward("close")

    def notice(self, text: str) -> None:
        if text == SPACE:
            self._unsaved = False
            self._tell_of_space()
        else:
            self._unsaved |= _is_full(text)
            self._tell(text)

    def _tell(self, text: str) -> None:
        if not (_is_full(text) and self._told):
            self._told |= _is_full(text)
            self._forward("notice", text)

    def _tell_of_space(self) -> None:
        if self._told and not self._unsaved and not self._refused:
            self._told = False
            self._forward("notice", SPACE)

    def _forward(self, event: str, *content: object) -> None:
        first: Exception | None = None
        notices: list[str] = []
        for reporter, failures in self._failures.items():
            if failures >= FAILURES:
                continue
            self._failures[reporter] += 1
            try:
                getattr(reporter, event)(*content)
            except DiskError as error:
                self._failures[reporter] = 0
                if not self._refused:
                    notices.append(f"{DISK}{error}; training goes on, and it is tried again")
                self._refused.add(reporter)
            except Exception as error:
                first = first or error
            else:
                self._failures[reporter] = 0
                if event == "iteration":  # which all of them write
                    self._refused.discard(reporter)
        for text in notices:
            self._tell(text)
        if event == "iteration":
            self._tell_of_space()
        if first is not None:
            raise first


def _is_full(notice: str) -> bool:
    return notice.startswith(DISK) and says_full(notice)


class Feed(Forwarding):
    """A reporter that never blocks or raises: it queues events, and ``run`` delivers them to the wrapped reporter.

    When the bounded queue is full, new events are dropped and counted in ``dropped``. Iterations go to the trackers of
    ``tracking``, too, which have queues of their own.
    """

    def __init__(self, reporter: Reporter, limit: int = 1000, tracking: Tracking | None = None) -> None:
        self.dropped = 0
        self.tracking = Tracking() if tracking is None else tracking
        self._reporter = reporter
        self._events: queue.Queue[Callable[[], None]] = queue.Queue(limit)
        self._closing = threading.Event()
        self._delivering = threading.Lock()  # a cancelled thread may still deliver its last event

    def iteration(self, report: Report) -> None:
        super().iteration(report)
        self.tracking.iteration(report)

    def rated(self, report: Report) -> None:
        super().rated(report)
        self.tracking.rated(report)

    def close(self) -> None:
        """Make ``run`` deliver the queued events, close the wrapped reporter and return."""
        self._closing.set()

    async def run(self) -> None:
        """Deliver events until closed. Raises errors of the reporter; call again to continue with the next event."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[None] = loop.create_future()
        cancelled = threading.Event()
        # A daemon thread, so that a hanging terminal does not block the exit.
        target = partial(self._deliver, cancelled, loop, finished)
        threading.Thread(target=target, name="report", daemon=True).start()
        try:
            await finished
        finally:
            cancelled.set()

    async def finish(self) -> None:
        """Close and deliver the queued events; gives up after ``LAST_S`` seconds."""
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

    def _forward(self, event: str, *content: object) -> None:
        try:
            self._events.put_nowait(partial(getattr(self._reporter, event), *content))
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
        except BaseException as caught:  # handled by the supervisor of ``run``
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
