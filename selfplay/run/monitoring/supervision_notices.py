"""Turns reports of supervision into lines for people, and gives up runners that do not come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from selfplay.supervision import ChildAbandoned, ChildExited, ChildParked, ChildStartFailed, Report, SupervisorGaveUp
from selfplay.verbs import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.runner.work_queue import WorkQueue


class SupervisionNotices:
    """Turns reports of a run's supervisors into notices.

    Args:
        queues: Where each runner delivers, by its id.
        restarted: Called with the id of a child that failed and is replaced, and why it failed.
        crashes: The file with the tracebacks, which the first failure names.
    """

    def __init__(
        self,
        notice: Callable[[str], object],
        queues: Mapping[str, WorkQueue[Any]],
        restarted: Callable[[str, str], object],
        crashes: Path,
    ) -> None:
        self.listeners: list[Callable[[Report], object]] = []  # called with every report, too
        self._notice = notice
        self._queues = queues
        self._restarted = restarted
        self._crashes: Path | None = crashes  # None: it was named

    def on_report(self, report: Report) -> None:
        self._announce(report)
        for listener in self.listeners:
            listener(report)

    def _announce(self, report: Report) -> None:
        name = getattr(getattr(report, "child", None), "id", "")
        queue = self._queues.get(name)
        match report:
            case ChildExited(reason=reason, asked=False) if not reason.clean:
                self._notice(f"{name} failed: {reason.message}; it is replaced")
                self._restarted(name, reason.message)
                if self._crashes is not None and reason.trace is not None:
                    shows = f"selfplay tree {quoted(self._crashes.parent)} --crashes 1"
                    self._notice(f"Tracebacks are in {self._crashes}; {shows} shows the newest")
                    self._crashes = None
            case ChildExited(asked=True) if queue is not None:
                queue.give_up(name, "it was stopped")
            case ChildStartFailed(reason=reason):
                self._notice(f"{name} did not start: {reason.message}")
            case ChildAbandoned(total=total):
                self._notice(f"{name} did not stop in time and was abandoned ({total} so far)")
            case ChildParked(delay_s=delay, cause=cause):
                self._notice(f"{name} fails again and again and is parked for {delay:g} s; first cause: {cause}")
                if queue is not None:
                    queue.give_up(name, str(cause))
            case SupervisorGaveUp(why=why, cause=cause):
                self._notice(f"giving up: {why}; first cause: {cause}")
            case _:
                pass
