"""Files of other programs' games: tables with separators, JSON lines and PGN, told apart by their content."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.errors import LeagueError
from selfplay.files import opened
from selfplay.games.files import kind_of, parse_json
from selfplay.league.external_games import GameCollector, Result
from selfplay.league.pgn import is_pgn, pgn_results
from selfplay.league.result_fields import Fields, fields_of

if TYPE_CHECKING:
    from selfplay.league.games import GameTable

LONGEST_LINE: Final = 2**20  # characters
MOST_BLANK: Final = 1000  # lines before the first one
SPREADSHEETS: Final = (".xlsx", ".xls", ".ods", ".numbers")
_SEPARATORS: Final = ",;\t"


def read_results(*paths: Path) -> GameTable:
    """Read the games of files, one line or game after the other.

    The format follows from the content: a table with a header, separated by commas, semicolons or tabs; JSON lines; or
    PGN. Fields are spelled as in ``result_fields``. The text is UTF-8, or UTF-16 with a byte-order mark.

    Raises:
        LeagueError: a file or a line of it is not valid; the message says which, and what is valid.
    """
    games = GameCollector()
    for path in paths:
        _read(path, games)
    more = f" and {len(paths) - 1} more" * (len(paths) > 1)
    return games.table(f"{paths[0].name}{more}")


class _Lines:
    """The lines of a text, with their ends and the number of the last one."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if "\0" in line:
            raise ValueError("not a text: it has zero bytes; valid: UTF-8, or UTF-16 with a byte-order mark")
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE} characters")
        return line


def _read(path: Path, games: GameCollector) -> None:
    with _text_of(path) as text:
        lines = _Lines(text)
        try:
            for found in _results(lines):
                if isinstance(found, Result):
                    games.add(found)
                else:
                    games.skip(found)
        except UnicodeDecodeError as error:  # of UTF-16; other bytes are escaped
            raise LeagueError(f"{path}:{lines.number + 1}: not UTF-16; save it as UTF-8") from error
        except (ValueError, csv.Error) as error:
            raise LeagueError(f"{path}:{max(lines.number, 1)}: {error}") from error


@contextmanager
def _text_of(path: Path) -> Iterator[io.TextIOBase]:
    """The text of a file, with bytes that are no UTF-8 escaped."""
    if path.suffix.lower() in SPREADSHEETS:
        raise LeagueError(f"{path}: a spreadsheet; save the sheet as CSV")
    with opened(path, LeagueError, follow=True) as handle, os.fdopen(handle, "rb", closefd=False) as file:
        start = file.peek(4)
        if kind := kind_of(start):
            raise LeagueError(f"{path}: not a file of games; {kind}")
        is_wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        yield io.TextIOWrapper(file, "utf-16" if is_wide else "utf-8-sig", "surrogateescape", newline="")


def _results(lines: Iterator[str]) -> Iterator[Result | str]:
    head = list[str]()
    for line in itertools.islice(lines, MOST_BLANK):
        head.append(line)
        if line.strip():
            break
    first = head[-1].strip() if head else ""
    if not first:
        raise ValueError("the file is empty")
    content = itertools.chain(head, lines)
    if is_pgn(first):
        yield from pgn_results(content)
    elif first.startswith("{"):
        yield from _json_results(_utf8(content))
    elif first.startswith("["):
        raise ValueError("not PGN, and not JSON lines, which have an object in each line, without brackets around")
    else:
        separator = max(_SEPARATORS, key=first.count)
        yield from _table_results(_utf8(content), separator)


def _utf8(lines: Iterator[str]) -> Iterator[str]:
    """The lines; ValueError for one with bytes that are no UTF-8."""
    for line in lines:
        if not line.isascii() and any("\ud800" <= letter <= "\udfff" for letter in line):
            raise ValueError("the text is not UTF-8; save it as UTF-8")
        yield line


def _table_results(lines: Iterator[str], separator: str) -> Iterator[Result | str]:
    rows = (row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True) if row)
    header = [name.strip() for name in next(rows, [])]
    named = [name for name in header if name]
    if len(set(named)) < len(named):
        raise ValueError("a column occurs twice in the header")
    fields = fields_of(named)
    for row in rows:
        if any(cell.strip() for cell in row[len(header) :]):
            raise ValueError(f"{len(row)} cells; valid: {len(header)}, as in the header")
        yield fields.game(dict(zip(header, row, strict=False)))


def _json_results(lines: Iterator[str]) -> Iterator[Result | str]:
    names: tuple[str, ...] = ()
    fields: Fields | None = None
    for line in lines:
        if not line.strip():
            continue
        row = parse_json(line, LONGEST_LINE)
        if not isinstance(row, dict):
            raise ValueError('not an object; valid: {"first": "a", "second": "b", "score": 1} in each line')
        if fields is None or tuple(row) != names:
            names = tuple(row)
            fields = fields_of(names)
        yield fields.game({name: _written(name, value) for name, value in row.items() if name in fields.names})


def _written(name: str, value: object) -> str:
    """A value as a table has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"{name} {value!r}; valid: a text or a number")
