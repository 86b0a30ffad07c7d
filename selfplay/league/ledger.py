"""The ledger: one JSON line per rating game, only ever appended to, by one writer at a time.

Ratings, leaderboards and pairings are functions of its rows, so that nothing else of the league needs saving.
A crash can tear the last line; readers ignore it and the next writer cuts it off. Anything else that cannot be read is
an error which names the file and the line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final, Self, TypeVar, final

from pydantic import ValidationError

from envs.files import read_plain
from selfplay.appending import Appender
from selfplay.errors import LeagueError, boundary, describe
from selfplay.league.games import Columns, Games
from selfplay.league.records import MatchRecord, first_problem
from selfplay.league.rewards import RewardRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

FILE_NAME: Final = "ledger.jsonl"
MAX_BYTES: Final = 2**30  # two million games
AnyRecord = TypeVar("AnyRecord", MatchRecord, RewardRecord)


def read_games(path: Path) -> Games:
    """The columns of a ledger; a torn last line and repeated match ids are ignored, and reported in the result.

    Raises:
        LeagueError: no such file, or a row other than the last that is no match record.
    """
    data = _content(path)
    columns = Columns()
    offsets = _fold(path, data, columns)
    return Games.folded(columns, torn=offsets[-1] < len(data))


def read_records(path: Path, kind: type[AnyRecord] = MatchRecord) -> Iterator[AnyRecord]:  # type: ignore[assignment]
    """Every row as a validated record, in order. Slow (about 20 us a row); for exports and for looking at games.

    Args:
        path: the file.
        kind: of the records; ``RewardRecord`` in the ledger of a game of words.

    Raises:
        LeagueError: as ``read_games``, and any field that is not as it must be.
    """
    data = _content(path)
    columns = Columns()
    offsets = _fold(path, data, columns)
    seen: set[str] = set()
    for number, line in enumerate(data[: offsets[-1]].split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = kind.model_validate_json(line)
        except ValidationError as error:
            raise LeagueError(f"{path}:{number}: {first_problem(error, 'row')}") from error
        if record.match not in seen:
            seen.add(record.match)
            yield record


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LeagueError(f"cannot read the ledger {path}: {describe(error)}") from error


def _fold(path: Path, data: bytes, columns: Columns) -> list[int]:
    """Fold all rows into ``columns``; the offset where the file's first k new rows end, for k = 0, 1, ...

    The last offset is where the readable part ends: anything behind it is a torn line.
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
            raise LeagueError(f"{path}:{number + 1}: no record of a game: {_reason(error)}") from error
        if new:
            offsets.append(position)
        else:
            offsets[-1] = position
    return offsets


def _reason(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


@final
class Ledger:
    """The one writer of a ledger. Open it with ``Ledger.open``; it is a context manager.

    Attributes:
        path: the file.
        repaired_bytes: length of the torn line that was cut off on opening.
        dropped_rows: rows cut off on opening because ``keep_rows`` asked for fewer.
    """

    def __init__(self, path: Path, descriptor: int, columns: Columns, repaired_bytes: int, dropped_rows: int) -> None:
        self.path = path
        self.repaired_bytes = repaired_bytes
        self.dropped_rows = dropped_rows
        self._file = Appender(descriptor, f"the ledger {path}")
        self._columns = columns

    @classmethod
    def open(cls, path: Path, keep_rows: int | None = None) -> Self:
        """Open for appending; make the file if there is none, repair its end if it is torn.

        Args:
            path: the file.
            keep_rows: drop the rows behind the first ``keep_rows``. A run that resumes bit for bit plays them again.

        Raises:
            LeagueError: another writer has it open, a row is corrupt, or there are fewer rows than ``keep_rows``.
        """
        with boundary(LeagueError, f"cannot open the ledger {path}"):
            is_new = not path.exists()
            # what is at the end of a link is nobody's ledger: it would be cut and written to
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            with boundary(LeagueError, f"cannot open the ledger {path}"):
                _lock(descriptor, path)
                if is_new:
                    _sync_folder(path.parent)
            data = _content(path)
            columns = Columns()
            offsets = _fold(path, data, columns)
            rows = len(offsets) - 1
            if keep_rows is not None and keep_rows > rows:
                raise LeagueError(f"{path} has {rows} rows where {keep_rows} were written: it was changed by others")
            keep = rows if keep_rows is None else keep_rows
            if keep < rows:
                columns = Columns()
                _fold(path, data[: offsets[keep]], columns)
            with boundary(LeagueError, f"cannot repair the ledger {path}"):
                _cut(descriptor, data, offsets[keep])
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, columns, len(data) - offsets[-1], rows - keep)

    @property
    def rows(self) -> int:
        """Games in the ledger, repeated rows not counted."""
        return len(self._columns)

    @property
    def duplicates(self) -> int:
        """Rows with a match id that was there already: in the file, or handed to ``append`` and not written."""
        return self._columns.duplicates

    def games(self) -> Games:
        """The columns of all rows; equal to what ``read_games`` makes of the file."""
        return Games.folded(self._columns)

    def append(self, records: Iterable[MatchRecord | RewardRecord]) -> int:
        """Write games and wait until the disk has them, all or none; how many were new.

        Raises:
            LeagueError: a mirror match.
            DiskError: the disk refused; the file is as it was, or is made so before the next rows.
        """
        fresh: dict[str, str] = {}
        for record in records:
            if record.seats[0].player == record.seats[1].player:
                raise LeagueError(f"mirror match of {record.seats[0].player!r}: it says nothing about its strength")
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
        """Give the file back; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lock(descriptor: int, path: Path) -> None:
    import fcntl  # not on Windows, where ledgers can still be read

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LeagueError(f"{path} is being written by another trainer; stop it, or use another run folder") from None


def _cut(descriptor: int, data: bytes, end: int) -> None:
    """Make the file end behind its last good row, and with a line end."""
    if end < len(data):
        os.ftruncate(descriptor, end)
    if end and data[end - 1 : end] != b"\n":
        os.write(descriptor, b"\n")
    if end < len(data) or data[end - 1 : end] not in (b"", b"\n"):
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
