"""Results of other programs, read from a CSV file and rated by the same code as a run's ledger."""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path
from typing import Final

import numpy as np

from selfplay.errors import LeagueError, boundary
from selfplay.games.files import kind_of, read_plain
from selfplay.league.games import GameTable
from selfplay.league.records import ANCHOR

SCORES: Final = {"1": 1.0, "1.0": 1.0, "0.5": 0.5, "0": 0.0, "0.0": 0.0}
"""Valid scores of the first player."""
LONGEST_NAME: Final = 64
MAX_BYTES: Final = 2**28
_COLUMNS: Final = ("first", "second", "score")
_PAIR: Final = "pair"
_SHEETS: Final = (".xlsx", ".xls", ".ods", ".numbers")


def read_csv(path: Path) -> GameTable:
    """Read games from the columns ``first``, ``second`` (names) and ``score`` (of the first: 1, 0.5 or 0).

    Columns are separated by commas, semicolons or tabs. The text is UTF-8, or UTF-16 with a byte-order mark.
    An optional column ``pair`` labels correlated games of the same two players (same opening or seed), which count as
    one observation. Other columns are ignored.

    Raises:
        LeagueError: the file or a column is missing, or a row is invalid; the message has its line.
    """
    text = _text_of(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    players: dict[str, int] = {}
    pairs: dict[object, int] = {}
    found: list[tuple[int, int, int]] = []
    scores: list[float] = []
    try:
        missing = [name for name in _COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise LeagueError(f"{path}: no column {missing[0]!r}; valid: {', '.join(_COLUMNS)} and optionally {_PAIR}")
        for row in rows:
            first, second, score = (_cell(row, name) for name in _COLUMNS)
            score = score.replace(",", ".")
            if first == second:
                raise LeagueError(f"{path}:{rows.line_num}: {first!r} plays itself, which cannot be rated")
            if score not in SCORES:
                raise LeagueError(f"{path}:{rows.line_num}: score {score!r}; valid: 1, 0.5, 0 (of the first player)")
            for name in (first, second):
                if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
                    raise LeagueError(
                        f"{path}:{rows.line_num}: player {name[:LONGEST_NAME]!r}; valid: 1 to {LONGEST_NAME} printable "
                        "characters"
                    )
            label = _cell(row, _PAIR)
            pair = (*sorted((first, second)), label) if label else rows.line_num
            seats = (players.setdefault(first, len(players)), players.setdefault(second, len(players)))
            found.append((*seats, pairs.setdefault(pair, len(pairs))))
            scores.append(SCORES[score])
    except csv.Error as error:
        raise LeagueError(f"{path}:{rows.line_num}: {error}") from error
    if not found:
        raise LeagueError(f"{path}: the file has no games")
    table = np.array(found, dtype=np.int64)
    return GameTable(
        players=tuple(players),
        groups=(path.name,),
        seats=table[:, 0:2],
        versions=np.zeros((len(table), 2), dtype=np.int64),
        scores=np.array(scores),
        pairs=table[:, 2],
        group=np.zeros(len(table), dtype=np.int64),
        external=True,
    )


def default_anchor(games: GameTable) -> str:
    """The default player at 1500: ``random`` if it played, else the player with the most games."""
    if ANCHOR in games.players:
        return ANCHOR
    return games.players[int(np.bincount(games.seats.ravel()).argmax())]


def _text_of(path: Path) -> str:
    with boundary(LeagueError, f"cannot read the games {path}"):
        data = read_plain(path, MAX_BYTES, follow=True)
        if path.suffix.lower() in _SHEETS:
            raise LeagueError(f"{path}: a spreadsheet; save the sheet as CSV")
        if kind := kind_of(data):
            raise LeagueError(f"{path}: not a CSV file; {kind}")
        try:
            wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            text = data.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise LeagueError(f"cannot read the games {path}: the text is not UTF-8; save it as UTF-8") from error
    if text.lstrip().startswith("["):
        raise LeagueError(
            f"{path}: not a CSV file; of PGN, write White, Black and 1, 0.5 or 0 as {', '.join(_COLUMNS)}"
        )
    return text


def _cell(row: dict[str, str | None], name: str) -> str:
    return (row.get(name) or "").strip()
