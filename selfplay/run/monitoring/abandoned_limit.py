"""Ends a run with too many abandoned threads and children: each keeps its games and a core until the process ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.errors import HangingError
from selfplay.runner.worker import Worker
from selfplay.supervision import SHUTDOWN, ChildAbandoned, ChildExited, walk_tree

if TYPE_CHECKING:
    import asyncio

    from selfplay.supervision import Report
    from selfplay.supervision.node import Node

LEARNER: Final = "learner"  # the child that ends the run when it is stopped


@dataclass(eq=False)
class AbandonedLimit:
    """Counts abandoned threads of runners and abandoned children that still run, in the whole process."""

    limit: int
    root: Node  # is stopped where the learner cannot end the run
    stop: asyncio.Event  # is set to end the run after the iteration in progress, with a checkpoint
    notice: Callable[[str], object]
    error: HangingError | None = None  # that the run ends with
    _first: str = ""  # why the first of those was left behind

    def __post_init__(self) -> None:
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
        if count > self.limit:
            self._end(count)

    def _end(self, count: int) -> None:
        self.error = HangingError(
            f"{self._counted(count)} (guard.max_abandoned is {self.limit}), and only the end of the process frees "
            f"that; --resume goes on from the last checkpoint; first cause: {self._first or 'an earlier run'}"
        )
        self.stop.set()
        learner = next((info for path, info in walk_tree(self.root) if path == f"{self.root.path}/{LEARNER}"), None)
        if learner is None or learner.state != "running":
            self.notice(f"{self._counted(count)}: stopping at once, at the last checkpoint")
            self.root.finish(SHUTDOWN)
        else:
            self.notice(f"{self._counted(count)}: stopping after this iteration, with a checkpoint")

    @staticmethod
    def _counted(count: int) -> str:
        return f"Too much hangs, {count} threads and children in all"

    def _count(self) -> int:
        return Worker.hanging() + len(self.root.abandoned)
