"""Results of other programs, from Python or a CSV file, rated by the same code as a run's ledger."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from selfplay.errors import LeagueError, boundary
from selfplay.games.files import kind_of, read_plain
from selfplay.league.games import GameTable
from selfplay.league.records import ANCHOR

SCORES: Final = {"1": 1.0, "1.0": 1.0, "0.5": 0.5, "0": 0.0, "0.0": 0.0}
"""Valid scores of the first player."""
LONGEST_NAME: Final = 64
MAX_BYTES: Final = 2**28
VALUES: Final = frozenset(SCORES.values())
_COLUMNS: Final = ("first", "second", "score")
_PAIR: Final = "pair"


def read_csv(path: Path) -> GameTable:
    """Read games from the columns ``first``, ``second`` (names) and ``score`` (of the first: 1, 0.5 or 0).

    Columns are separated by commas, semicolons or tabs. The text is UTF-8, or UTF-16 with a byte-order mark.
    An optional column ``pair`` labels correlated games of the same two players (same opening or seed), which count as
    one observation. Other columns are ignored.
    """
    text = _text_of(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    found = []
    try:
        missing = [name for name in _COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise LeagueError(f"{path}: no column {missing[0]!r}; valid: {', '.join(_COLUMNS)} and optionally {_PAIR}")
        for row in rows:
            first, second, score = (_cell(row, name) for name in _COLUMNS)
            score = score.replace(",", ".")
            if score not in SCORES:
                raise LeagueError(f"{path}:{rows.line_num}: score {score!r}; valid: 1, 0.5, 0 (of the first player)")
            result = Result(first, second, SCORES[score], _cell(row, _PAIR))
            if wrong := _wrong_names(result):
                raise LeagueError(f"{path}:{rows.line_num}: {wrong}")
            found.append(result)
    except csv.Error as error:
        raise LeagueError(f"{path}:{rows.line_num}: {error}") from error
    if not found:
        raise LeagueError(f"{path}: the file has no games")
    return table_of(found, path.name)


class Result(NamedTuple):
    """A game of two players. Games of the same two with one label ``pair`` count as one observation; "" is none."""

    first: str
    second: str
    score: float  # of the first player: 1, 0.5 or 0
    pair: str = ""  # such as the opening or the seed that the games share


def table_of(results: Iterable[Result], name: str = "games") -> GameTable:
    """Games of other programs as a table that ``rate`` and ``diagnose`` read. ``name`` is that of their settings.

    LeagueError for no game, or a game with another score, one player only, or a name that cannot be shown.
    """
    players: dict[str, int] = {}
    pairs: dict[object, int] = {}
    rows: list[tuple[int, int, int]] = []
    scores: list[float] = []
    for number, result in enumerate(results):
        wrong = _wrong_names(result) or ("" if result.score in VALUES else f"score {result.score!r}; valid: 1, 0.5, 0")
        if wrong:
            raise LeagueError(f"game {number}: {wrong}")
        first, second, score, label = result
        pair = (*sorted((first, second)), label) if label else number
        seats = (players.setdefault(first, len(players)), players.setdefault(second, len(players)))
        rows.append((*seats, pairs.setdefault(pair, len(pairs))))
        scores.append(score)
    if not rows:
        raise LeagueError("there are no games")
    table = np.array(rows, dtype=np.int64)
    return GameTable(
        players=tuple(players),
        groups=(name,),
        seats=table[:, 0:2],
        versions=np.zeros((len(table), 2), dtype=np.int64),
        scores=np.array(scores, dtype=np.float64),
        pairs=table[:, 2],
        group=np.zeros(len(table), dtype=np.int64),
        external=True,
    )


def _wrong_names(result: Result) -> str:
    if result.first == result.second:
        return f"{result.first!r} plays itself, which cannot be rated"
    for name in result[:2]:
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            return f"player {name[:LONGEST_NAME]!r}; valid: 1 to {LONGEST_NAME} printable characters"
    return ""


def default_anchor(games: GameTable) -> str:
    """The default player at 1500: ``random`` if it played, else the player with the most games."""
    if ANCHOR in games.players:
        return ANCHOR
    return games.players[int(np.bincount(games.seats.ravel()).argmax())]


def _text_of(path: Path) -> str:
    with boundary(LeagueError, f"cannot read the games {path}"):
        data = read_plain(path, MAX_BYTES, follow=True)
        if path.suffix.lower() in (".xlsx", ".xls", ".ods", ".numbers"):
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
