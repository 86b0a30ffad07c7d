"""Training metrics of a run that goes on, read as they are written, as curves of bounded size."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.games.files import CHUNK, opened, parse_json
from selfplay.report.leaderboard_page.curves import POINTS, SHARES, Point, chart_tags, charts
from selfplay.report.leaderboard_page.records import can_be_drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selfplay.games.columns import Columns
    from selfplay.report.health import HealthMonitor
    from selfplay.report.leaderboard_page.records import JsonRow

CHUNKS: Final = 8  # read at once: some thousand rows, which take some tenths of a second


class GrowingFile:
    """A file of lines that another program appends to, or replaces."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0

    def lines(self, begin: Callable[[], None]) -> Iterator[bytes]:
        """New complete lines, at most ``CHUNKS`` chunks of them; OSError if the file cannot be read.

        ``begin`` is called before the first line of another file than before.
        """
        with opened(self._path) as handle:
            found = os.fstat(handle)
            if found.st_ino != self._inode or found.st_size < self._offset:
                self._inode, self._offset = found.st_ino, 0
                begin()
            for _ in range(CHUNKS):
                text = os.pread(handle, CHUNK, self._offset)
                whole, end, _ = text.rpartition(b"\n")
                if not end:
                    if len(text) < CHUNK:
                        return
                    whole = text  # no row is so long
                self._offset += len(whole) + len(end)
                yield from whole.split(b"\n")


class GrowingPoints:
    """At least ``most`` and fewer than twice as many points, once there are as many rows."""

    def __init__(self, most: int) -> None:
        self.points: list[Point] = []
        self.each = 1  # rows of a point
        self._most = most
        self._last = 0  # rows of the last point

    def add(self, row: Point) -> None:
        if self.points and self._last < self.each:
            self.points[-1].add(row)
            self._last += 1
            return
        if len(self.points) == 2 * self._most:
            for point, later in zip(self.points[::2], self.points[1::2], strict=True):
                point.add(later)
            self.points = self.points[::2]
            self.each *= 2
        self.points.append(row)
        self._last = 1

    @property
    def whole(self) -> int:
        """The number of points that stay as they are until there are too many."""
        return len(self.points) - (self._last < self.each)


class GrowingCurves:
    """The curves of a run; ``read`` reads what is new."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.last: JsonRow = {}  # the last row
        self._file = GrowingFile(path)
        self._columns = columns
        self._tags = chart_tags(columns)
        self._begin()

    def read(self, monitor: HealthMonitor) -> None:
        """Read the new rows, and show them to ``monitor``. A file that is missing has no rows."""
        try:
            for line in self._file.lines(self._begin):
                self._take(line, monitor)
        except OSError:
            return

    def changes(self, known: str) -> dict[str, Any] | None:
        """The points that a page lacks that was at ``known``, the ``at`` of an earlier answer; None: it lacks none.

        ``from`` and ``shares_from`` are the first points that differ; ``each`` is the number of iterations of a point.
        """
        if known == self.at or not self._points.points:
            return None
        series, *places = known.split(":")
        same = series == self._series and len(places) == 3 and all(place.isdecimal() for place in places)
        first, shares_first = map(int, places[:2]) if same else (0, 0)
        # names of all points, so that those of an answer do not depend on where it begins
        everything = charts(self._points.points, self._shares.points, self._columns)
        for one in (*everything["losses"], *everything["play"]):
            one["y"] = one["y"][first:]
        for shares in (everything["opponents"], everything["phases"]):
            shares["x"] = shares["x"][shares_first:]
            for one in shares["series"]:
                one["y"] = one["y"][shares_first:]
        everything["x"] = everything["x"][first:]
        more = {"at": self.at, "from": first, "shares_from": shares_first, "each": self._points.each}
        return everything | more

    @property
    def at(self) -> str:
        """Which curves these are and how far: it changes with each row."""
        iteration = self.last.get("iteration", 0)
        return f"{self._series}:{self._points.whole}:{self._shares.whole}:{iteration}"

    @property
    def _series(self) -> str:
        return f"{self._name}-{self._points.each}-{self._shares.each}-{len(self._known)}"

    def _begin(self) -> None:
        self.last = {}
        self._name = secrets.token_hex(4)
        self._known: set[str] = set()  # tags
        self._points, self._shares = GrowingPoints(POINTS), GrowingPoints(SHARES)

    def _take(self, line: bytes, monitor: HealthMonitor) -> None:
        try:
            row = parse_json(line)
        except ValueError:
            return
        if not isinstance(row, dict) or not can_be_drawn(row):
            return
        self.last = row
        monitor.add(row)
        for curve in (self._points, self._shares):
            point = Point.of(row, self._tags)
            curve.add(point)
        self._known.update(point.sums)
