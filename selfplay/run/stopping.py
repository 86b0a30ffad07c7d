"""Ends a run before its planned end: on request, or because its time is over although no iteration ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.errors import HangingError
from selfplay.supervision.clock import Deadline

if TYPE_CHECKING:
    from selfplay.run.progress import Progress
    from selfplay.supervision import Clock

LEAST_S: Final = 30.0
START: Final = "the start"  # phases of a run, as messages name them
COLLECT: Final = "the collection of games"
UPDATE: Final = "the update"
RATE: Final = "the rating"
SAVE: Final = "the save"
REPORT: Final = "the report"


class Stop(asyncio.Event):
    """Set when a run is to end in order, after the current iteration; once it is cut, without waiting for that."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Callable[[], object]] = []  # called with every ``set``
        self.cut_listeners: list[Callable[[], object]] = []  # called with every ``cut``
        self.is_cut = False  # whether the current iteration is to end now. May be read from any thread.

    def set(self) -> None:
        super().set()
        for listener in self.listeners:
            listener()

    def cut(self) -> None:
        """Set, and drop games in progress and the rest of an update."""
        self.is_cut = True
        self.set()
        for listener in self.cut_listeners:
            listener()


@dataclass(eq=False)
class Overtime:
    """Limits the iteration in which a run is to end.

    After a request to stop, or once the time of the run is over, it has as long again as the longest iteration so far,
    and ``LEAST_S`` at least. Then it is cut short. If it does not end within the same time again, the whole run ends at
    its last checkpoint. A save is never interrupted.
    """

    stop: Stop
    progress: Progress
    clock: Clock
    notice: Callable[[str], object]
    end_tree: Callable[[], object]  # stops the supervision tree
    is_over: bool = False  # the time of the run is over
    has_cut: bool = False  # that, and no request to stop, has cut an iteration short
    error: HangingError | None = None  # that the run ends with, if it ends at its last checkpoint
    _timer: Deadline | None = None
    _waiting: bool = False  # for the end of the iteration

    def __post_init__(self) -> None:
        self.stop.listeners.append(self._wait)

    def begin(self, limit_s: float) -> None:
        """Start to count the time that a run has left."""
        if limit_s < math.inf and not self._waiting:
            self._timer = Deadline(self.clock, max(0.0, limit_s), self._time_is_over)

    def close(self) -> None:
        """Count no time any more, unless a request to stop comes later."""
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()

    def _time_is_over(self) -> None:
        self.is_over = True
        self._wait()

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._set_timer(self._cut)

    def _set_timer(self, then: Callable[[], object]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Deadline(self.clock, max(LEAST_S, self.progress.longest_s), then)

    def _cut(self) -> None:
        phase = self.progress.phase
        self.has_cut = not self.stop.is_set()
        if self.has_cut:
            self.progress.ended_by = f"--max-minutes during {phase}"
        why = "--max-minutes is over" if self.has_cut else "The run is to end"
        self.notice(f"{why} and {phase} has not ended; no longer waiting for it")
        self._set_timer(self._give_up)
        self.stop.cut()

    def _give_up(self) -> None:
        phase = self.progress.phase
        if phase == SAVE:
            self._set_timer(self._give_up)
            return
        self.error = HangingError(
            f"{phase} does not end; the run was stopped without it, and --resume goes on from the last checkpoint, of "
            f"iteration {self.progress.saved}"
        )
        self.end_tree()
