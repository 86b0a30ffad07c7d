"""Turns reports of supervision into lines for people, and gives up runners that do not come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from selfplay.supervision import ChildAbandoned, ChildExited, ChildParked, ChildStartFailed, Report, SupervisorGaveUp
from selfplay.verbs import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.runner.work_queue import WorkQueue


@dataclass(slots=True, eq=False)
class SupervisionNotices:
    """Turns reports of a run's supervisors into notices."""

    notice: Callable[[str], object]
    queues: Mapping[str, WorkQueue[Any]]  # where each runner delivers, by its id
    restarted: Callable[[str, str], object]
    """Called with the id of a child that failed and is replaced, and why it failed."""
    crashes: Path | None  # the file with the tracebacks, which the first failure names; None: it was named
    listeners: list[Callable[[Report], object]] = field(default_factory=list)  # called with every report, too

    def on_report(self, report: Report) -> None:
        self._announce(report)
        for listener in self.listeners:
            listener(report)

    def _announce(self, report: Report) -> None:
        name = getattr(getattr(report, "child", None), "id", "")
        queue = self.queues.get(name)
        match report:
            case ChildExited(reason=reason, asked=False) if not reason.clean:
                self.notice(f"{name} failed: {reason.message}; it is replaced")
                self.restarted(name, reason.message)
                if self.crashes is not None and reason.trace is not None:
                    shows = f"selfplay tree {quoted(self.crashes.parent)} --crashes 1"
                    self.notice(f"Tracebacks are in {self.crashes}; {shows} shows the newest")
                    self.crashes = None
            case ChildExited(asked=True) if queue is not None:
                queue.give_up(name, "it was stopped")
            case ChildStartFailed(reason=reason):
                self.notice(f"{name} did not start: {reason.message}")
            case ChildAbandoned(total=total):
                self.notice(f"{name} did not stop in time and was abandoned ({total} so far)")
            case ChildParked(delay_s=delay, cause=cause):
                self.notice(f"{name} fails again and again and is parked for {delay:g} s; first cause: {cause}")
                if queue is not None:
                    queue.give_up(name, str(cause))
            case SupervisorGaveUp(why=why, cause=cause):
                self.notice(f"giving up: {why}; first cause: {cause}")
            case _:
                pass
