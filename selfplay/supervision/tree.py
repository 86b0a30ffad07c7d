"""State shared by all supervisors of one tree."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from selfplay.supervision.clock import Clock, MonotonicClock
from selfplay.supervision.exits import ChildRef

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.reports import Report

REMEMBERED_IDS = 10_000  # ids with a counter of their own: about 2 MB
logger = logging.getLogger(__name__)


class TreeState:
    """Clock, report listener and counters of a tree.

    Attributes:
        clock: source of time.
        abandoned: abandoned children that still run, with the path of their supervisor.
        abandoned_total: number of children ever abandoned.
        empty: set while every child has ended or was abandoned.
    """

    def __init__(self, clock: Clock | None = None, on_report: Callable[[Report], None] | None = None) -> None:
        self.clock: Clock = MonotonicClock() if clock is None else clock
        self.abandoned: dict[Child, str] = {}
        self.abandoned_total = 0
        self.empty = asyncio.Event()
        self.empty.set()
        self._living: set[Child] = set()
        self._on_report = on_report
        self._attempts: OrderedDict[tuple[str, str], int] = OrderedDict()  # least recently used first
        self._most_forgotten = 0  # upper bound of the attempts of all forgotten ids

    def next_ref(self, path: str, child_id: str) -> ChildRef:
        """Returns the reference of the next incarnation of a child; no number is used twice."""
        attempt = self._attempts.pop((path, child_id), self._most_forgotten) + 1
        self._attempts[path, child_id] = attempt
        if len(self._attempts) > REMEMBERED_IDS:
            self._most_forgotten = max(self._most_forgotten, self._attempts.popitem(last=False)[1])
        return ChildRef(child_id, attempt)

    def began(self, child: Child) -> None:
        self._living.add(child)
        self.empty.clear()

    def gone(self, child: Child) -> None:
        """Removes a child that has ended or was abandoned."""
        self._living.discard(child)
        if not self._living:
            self.empty.set()

    def abandon(self, path: str, child: Child) -> None:
        """Registers an abandoned child until it ends."""
        self.abandoned[child] = path
        self.abandoned_total += 1

    def report(self, report: Report) -> None:
        """Calls the listener and logs any exception that it raises, SystemExit and KeyboardInterrupt included."""
        if self._on_report is None:
            return
        try:
            self._on_report(replace(report, at_s=self.clock.time()))
        except BaseException:
            logger.exception("the listener failed on %s of %s", type(report).__name__, report.supervisor)
