"""What supervision did, in words, and what it means for those who wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from selfplay.supervision import (
    ChildAbandoned,
    ChildExited,
    ChildParked,
    ChildStartFailed,
    Report,
    SupervisorGaveUp,
)

if TYPE_CHECKING:
    from selfplay.runner.work_queue import WorkQueue


class Listener(Protocol):
    """Whoever is told."""

    def notice(self, text: str) -> None: ...


class SupervisionNotices:
    """Turns reports of a run's supervisors into notices.

    Args:
        listener: Is told.
        boards: Where each runner delivers, by its id.
        restarted: Is called with the id of a child that failed and is replaced.
    """

    def __init__(
        self, listener: Listener, boards: Mapping[str, WorkQueue[Any]], restarted: Callable[[str], object]
    ) -> None:
        self.listeners: list[Callable[[Report], object]] = []  # told every report, too
        self._listener = listener
        self._boards = boards
        self._restarted = restarted

    def tell(self, report: Report) -> None:
        self._announce(report)
        for listener in self.listeners:
            listener(report)

    def _announce(self, report: Report) -> None:
        name = getattr(getattr(report, "child", None), "id", "")
        board = self._boards.get(name)
        match report:
            case ChildExited(reason=reason, asked=False) if not reason.clean:
                self._listener.notice(f"{name} failed: {reason.message}; it is replaced")
                self._restarted(name)
            case ChildExited(asked=True) if board is not None:
                board.give_up(name, "it was stopped")
            case ChildStartFailed(reason=reason):
                self._listener.notice(f"{name} did not start: {reason.message}")
            case ChildAbandoned(total=total):
                self._listener.notice(f"{name} did not stop in time and was abandoned ({total} so far)")
            case ChildParked(delay_s=delay, cause=cause):
                self._listener.notice(
                    f"{name} fails again and again and is parked for {delay:g} s; first cause: {cause}"
                )
                if board is not None:
                    board.give_up(name, str(cause))
            case SupervisorGaveUp(why=why, cause=cause):
                self._listener.notice(f"giving up: {why}; first cause: {cause}")
            case _:
                pass
