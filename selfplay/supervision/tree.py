"""What all supervisors of one tree share: the clock, the listener, and the counts that outlive a supervisor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from selfplay.supervision.clock import Clock, MonotonicClock
from selfplay.supervision.exits import ChildRef

if TYPE_CHECKING:
    from collections.abc import Callable

    from selfplay.supervision.child import Child
    from selfplay.supervision.reports import Report

logger = logging.getLogger(__name__)


class Tree:
    """Shared by a root and everything below it.

    Attributes:
        clock: the tree's time.
        abandoned: children that were given up and still run.
        abandoned_total: how many were ever given up.
    """

    def __init__(self, clock: Clock | None = None, on_report: Callable[[Report], None] | None = None) -> None:
        self.clock: Clock = MonotonicClock() if clock is None else clock
        self.abandoned: set[Child] = set()
        self.abandoned_total = 0
        self._on_report = on_report
        self._attempts: dict[tuple[str, str], int] = {}  # one number for each id ever used: no seed is used twice

    def next_ref(self, path: str, child_id: str) -> ChildRef:
        """Names the next incarnation of a child of the supervisor at `path`."""
        attempt = self._attempts.get((path, child_id), 0) + 1
        self._attempts[path, child_id] = attempt
        return ChildRef(child_id, attempt)

    def abandon(self, child: Child) -> None:
        """Counts a child that was given up, for as long as it runs."""
        self.abandoned.add(child)
        self.abandoned_total += 1

    def report(self, report: Report) -> None:
        """Tells the listener, whose failures are its own."""
        if self._on_report is None:
            return
        try:
            self._on_report(report)
        except Exception:
            logger.exception("the listener failed on %s", report)
