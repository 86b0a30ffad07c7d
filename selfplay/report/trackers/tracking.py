"""Hands the records of a run to its trackers. A tracker that raises or hangs costs records, and never the run."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.errors import describe
from selfplay.report.metrics import ratings_of

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.report.metrics import Figures
    from selfplay.report.trackers.tracker import Cell, TrackedRun, Tracker

logger = logging.getLogger(__name__)
Notice = Callable[[str], object]
WAITING: Final = 1000  # records that wait for a tracker at most
FAILURES: Final = 10  # in a row, after which a tracker gets nothing more
LAST_S: Final = 120.0  # for all trackers together to take what waits at the end, uploads among it
RATINGS: Final = "rating/leaderboard"
COLUMNS: Final = ("rank", "player", "rating", "low", "high", "games", "wins", "losses", "draws")


class Tracking:
    """The trackers of a run. Methods are called from any thread, and neither block nor raise, except ``finish``."""

    def __init__(self, trackers: Mapping[str, Tracker] | None = None) -> None:
        self._trackers = dict(trackers or {})
        self._deliveries: list[_Delivery] = []

    def __bool__(self) -> bool:
        return bool(self._trackers)

    def begin(self, run: TrackedRun, notice: Notice) -> None:
        self._deliveries = [_Delivery(name, tracker, run, notice) for name, tracker in self._trackers.items()]

    def iteration(self, report: Figures) -> None:
        if self:
            self._metrics(report.total_steps, report.flat())

    def rated(self, report: Figures) -> None:
        if self:
            self._metrics(report.total_steps, ratings_of(report))

    def ratings(self, board: Leaderboard, step: int) -> None:
        if self:
            self._put("table", step, RATINGS, COLUMNS, rating_rows(board))

    def video(self, step: int, name: str, path: Path) -> None:
        self._put("video", step, name, path)

    def policy(self, step: int, name: str, folder: Path) -> None:
        self._put("policy", step, name, folder)

    def finish(self, seconds: float = LAST_S) -> None:
        """Deliver what waits and close all trackers. Blocks for so long at most."""
        deadline = time.monotonic() + seconds
        for delivery in self._deliveries:
            delivery.end()
        for delivery in self._deliveries:
            delivery.join(deadline)

    def _metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._put("metrics", step, {tag: value for tag, value in values.items() if math.isfinite(value)})

    def _put(self, method: str, *arguments: object) -> None:
        for delivery in self._deliveries:
            delivery.put(method, *arguments)


class _Delivery:
    """Calls one tracker in a thread of its own, through a bounded queue."""

    def __init__(self, name: str, tracker: Tracker, run: TrackedRun, notice: Notice) -> None:
        self._name, self._tracker, self._notice = name, tracker, notice
        self._records: queue.Queue[tuple[str, tuple[Any, ...]]] = queue.Queue(WAITING)
        self._ending = threading.Event()
        self._dropped = self._lost = self._failures = 0
        # A daemon, so that a tracker that hangs does not block the exit.
        self._thread = threading.Thread(target=self._work, args=(run,), name=f"tracker-{name}", daemon=True)
        self._thread.start()

    def put(self, method: str, *arguments: object) -> None:
        try:
            self._records.put_nowait((method, arguments))
        except queue.Full:
            self._dropped += 1
            if self._dropped == 1:
                self._notice(f"Tracker {self._name} is {WAITING} records behind; what it cannot take is dropped")

    def end(self) -> None:
        self._ending.set()
        with suppress(queue.Full):  # wakes the thread; a full queue does so, too
            self._records.put_nowait(("", ()))

    def join(self, deadline: float) -> None:
        self._thread.join(max(0.0, deadline - time.monotonic()))
        waiting = self._records.qsize() if self._thread.is_alive() else 0
        if self._thread.is_alive():
            self._notice(f"Tracker {self._name} did not end in time")
        if missing := self._dropped + self._lost + waiting:
            self._notice(f"Tracker {self._name}: {missing} records were not delivered")

    def _work(self, run: TrackedRun) -> None:
        if not self._call("start", run):
            self._failures = FAILURES  # nothing is possible after it
        while not (self._ending.is_set() and self._records.empty()):
            method, arguments = self._records.get()
            if method:
                self._call(method, *arguments)
        if self._failures < FAILURES:
            self._call("close")

    def _call(self, method: str, *arguments: Any) -> bool:  # noqa: ANN401
        if self._failures >= FAILURES:
            self._lost += 1
            return False
        try:
            said = getattr(self._tracker, method)(*arguments)
        except (Exception, SystemExit) as error:
            self._failed(method, error)
            return False
        if method == "start" and isinstance(said, str):
            self._notice(said)
        self._failures = 0
        return True

    def _failed(self, method: str, error: BaseException) -> None:
        logger.debug("tracker %s failed", self._name, exc_info=error)
        self._failures += 1
        self._lost += method not in ("start", "close")
        if self._failures == 1:
            self._notice(f"Tracker {self._name} failed in {method}: {describe(error)}; training goes on")
        if self._failures == FAILURES:
            self._notice(f"Tracker {self._name} failed {FAILURES} times in a row and gets nothing more")


def rating_rows(board: Leaderboard) -> list[tuple[Cell, ...]]:
    """The leaderboard as rows of ``COLUMNS``; an open end of an interval is None."""
    return [
        (row.rank, row.policy, row.rating, *(row.ends or (None, None)), row.games, row.wins, row.losses, row.draws)
        for row in board.rows
    ]
