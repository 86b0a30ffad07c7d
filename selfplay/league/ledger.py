"""The ledger: an append-only file with one JSON line per rating game and one writer at a time.

Ratings, leaderboards and matchups are computed from its rows, so nothing else of the league is saved. A crash can leave
an incomplete last line. Readers ignore it and the next writer removes it. Any other invalid row is an error that names
the file and the line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self, final

from pydantic import ValidationError

from selfplay.appending import Appender
from selfplay.errors import LeagueError, boundary, first_problem
from selfplay.files import sync
from selfplay.games.files import parse_json, read_plain
from selfplay.league.games import GameTable, TableBuilder
from selfplay.league.records import GameRecord

FILE_NAME: Final = "ledger.jsonl"
MAX_BYTES: Final = 2**30  # two million games


def read_games(*paths: Path) -> GameTable:
    """Read a ledger, or several as one. Incomplete last lines and repeated match ids are ignored and reported.

    LeagueError if a file is missing, or a row other than the last is invalid.
    """
    columns, torn = TableBuilder(), False
    for path in paths:
        data = _content(path)
        torn |= _fold(path, data, columns)[-1] < len(data)
    return GameTable.folded(columns, torn=torn)


def read_records(path: Path) -> Iterator[GameRecord]:
    """Read the rows of a ledger as validated records; errors as of ``read_games``. Slow: about 20 us per row."""
    data = _content(path)
    columns = TableBuilder()
    offsets = _fold(path, data, columns)
    seen: set[str] = set()
    for number, line in enumerate(data[: offsets[-1]].split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = GameRecord.model_validate_json(line)
        except ValidationError as error:
            raise LeagueError(f"{path}:{number}: {first_problem(error, 'row')}") from error
        if record.match not in seen:
            seen.add(record.match)
            yield record


def check_rows(path: Path, rows: int, written: int) -> None:
    """Refuse a ledger with fewer rows than were written; the LeagueError names both numbers."""
    if written > rows:
        raise LeagueError(f"{path} has {rows} rows, but {written} were written: another program changed it")


def _content(path: Path) -> bytes:
    with boundary(LeagueError, f"cannot read the ledger {path}"):
        return read_plain(path, MAX_BYTES)


def _fold(path: Path, data: bytes, columns: TableBuilder) -> list[int]:
    """Add all rows to ``columns``; returns the byte offset behind the first k new rows, for k = 0, 1, ...

    The last offset is the end of the readable part. Anything behind it is an incomplete line.
    """
    offsets = [0]
    position, lines = 0, data.split(b"\n")
    last = len(lines) - 2 if not lines[-1] else len(lines) - 1
    for number, line in enumerate(lines):
        position = min(position + len(line) + 1, len(data))
        if not line.strip():
            if number < last:
                continue
            break
        try:
            new = columns.add(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            if number == last and isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
                break
            raise LeagueError(f"{path}:{number + 1}: not a game record: {_reason(line, error)}") from error
        if new:
            offsets.append(position)
        else:
            offsets[-1] = position
    return offsets


def _reason(line: bytes, error: Exception) -> str:
    """What is wrong with a row; where only Python's words for a type are known, the field instead."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, ValueError):
        return str(error)
    try:
        GameRecord.model_validate(parse_json(line))
    except ValidationError as invalid:
        return first_problem(invalid, "row")
    return str(error)


@final
class Ledger:
    """The writer of a ledger, a context manager. Open it with ``Ledger.open``."""

    def __init__(self, file: Appender, columns: TableBuilder) -> None:
        self._file = file
        self._columns = columns

    @classmethod
    def open(cls, path: Path, keep_rows: int | None = None, wait_s: float = 0.0) -> Self:
        """Open for appending; create the file if missing, remove an incomplete last line.

        Rows behind the first ``keep_rows`` are removed: a resumed run plays them again.

        LeagueError if another writer still has it open after ``wait_s``, a row is corrupt, or there are fewer rows.
        """
        with boundary(LeagueError, f"cannot open the ledger {path}"):
            # O_NOFOLLOW: never truncate or write to the target of a link
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            with boundary(LeagueError, f"cannot open the ledger {path}"):
                _lock(descriptor, path, wait_s)
                sync(path.parent, os.O_DIRECTORY)  # the file may be new, or its creator died before this line
            data = _content(path)
            columns = TableBuilder()
            offsets = _fold(path, data, columns)
            rows = len(offsets) - 1
            keep = rows if keep_rows is None else keep_rows
            check_rows(path, rows, keep)
            if keep < rows:
                columns = TableBuilder()
                _fold(path, data[: offsets[keep]], columns)
            with boundary(LeagueError, f"cannot repair the ledger {path}"):
                _cut(descriptor, data, offsets[keep])
        except BaseException:
            os.close(descriptor)
            raise
        return cls(Appender(descriptor, f"the ledger {path}"), columns)

    @property
    def rows(self) -> int:
        return len(self._columns)

    def games(self) -> GameTable:
        """All games; equal to ``read_games`` of the file."""
        return GameTable.folded(self._columns)

    def append(self, records: Iterable[GameRecord]) -> int:
        """Write games and fsync, all or none; returns how many were new.

        DiskError if writing fails; partial rows are removed at the latest before the next write.
        """
        fresh: dict[str, str] = {}
        for record in records:
            if record.seats[0].player == record.seats[1].player:
                raise LeagueError(f"mirror match of {record.seats[0].player!r}: it cannot be rated")
            if record.match in self._columns.seen or record.match in fresh:
                self._columns.duplicates += 1
            else:
                fresh[record.match] = record.row()
        if not fresh:
            return 0
        self._file.write("".join(f"{row}\n" for row in fresh.values()).encode(), sync=True)
        for row in fresh.values():
            self._columns.add(row)
        return len(fresh)

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock(descriptor: int, path: Path, wait_s: float) -> None:
    import fcntl  # not on Windows, where ledgers can still be read

    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LeagueError(
                    f"{path} is being written by another trainer; stop it, or use another run folder"
                ) from None
            time.sleep(0.02)
        else:
            return


def _cut(descriptor: int, data: bytes, end: int) -> None:
    """Truncate the file behind its last valid row and make sure that it ends with a newline."""
    if end < len(data):
        os.ftruncate(descriptor, end)
    if end and data[end - 1 : end] != b"\n":
        os.write(descriptor, b"\n")
    if end < len(data) or data[end - 1 : end] not in (b"", b"\n"):
        os.fsync(descriptor)
