"""Ends a run with too many abandoned threads and children: each keeps its games and a core until the process ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from selfplay.errors import HangingError
from selfplay.runner.worker import Worker
from selfplay.supervision import SHUTDOWN, ChildAbandoned, ChildExited, walk_tree

if TYPE_CHECKING:
    import asyncio

    from selfplay.supervision import Report
    from selfplay.supervision.node import Node

LEARNER: Final = "learner"  # the child that ends the run when it is stopped


class AbandonedLimit:
    """Counts abandoned threads of runners and abandoned children that still run, in the whole process.

    Args:
        root: The tree, which is stopped where the learner cannot end the run.
        stop: Is set to end the run after the iteration in progress, with a checkpoint.

    Attributes:
        error: that the run ends with; None while there is none.
    """

    def __init__(self, limit: int, root: Node, stop: asyncio.Event, notice: Callable[[str], object]) -> None:
        self.error: HangingError | None = None
        self._limit = limit
        self._root = root
        self._stop = stop
        self._notice = notice
        self._first = ""  # why the first of those was left behind
        self._before = self._count()

    def on_report(self, report: Report) -> None:
        """A report of the tree, as it comes; a thread is left behind just before its runner fails."""
        if self.error is not None or not isinstance(report, ChildExited | ChildAbandoned):
            return
        count = self._count()
        if count > self._before and not self._first:
            why = report.reason.message if isinstance(report, ChildExited) else "did not stop in time"
            self._first = f"{report.supervisor}/{report.child.id}: {why}"
        elif not count:
            self._first = ""
        self._before = count
        if count > self._limit:
            self._end(count)

    def _end(self, count: int) -> None:
        self.error = HangingError(
            f"{self._counted(count)} (guard.max_abandoned is {self._limit}), and only the end of the process frees "
            f"that; --resume goes on from the last checkpoint; first cause: {self._first or 'an earlier run'}"
        )
        self._stop.set()
        learner = next((info for path, info in walk_tree(self._root) if path == f"{self._root.path}/{LEARNER}"), None)
        if learner is None or learner.state != "running":
            self._notice(f"{self._counted(count)}: stopping at once, at the last checkpoint")
            self._root.finish(SHUTDOWN)
        else:
            self._notice(f"{self._counted(count)}: stopping after this iteration, with a checkpoint")

    @staticmethod
    def _counted(count: int) -> str:
        return f"Too much hangs, {count} threads and children in all"

    def _count(self) -> int:
        return Worker.hanging() + len(self._root.abandoned)
