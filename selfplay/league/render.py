"""The leaderboard as text, as a table for a terminal, and as JSON."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from selfplay.league.schedule import START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from selfplay.league.leaderboard import Leaderboard
    from selfplay.league.rows import Row

ANCHORS: Final = {
    "shipped": "anchors: scripted players pinned by the project's table for these settings",
    "run": "anchors: scripted players pinned by this run's own calibration",
    None: "anchors: random alone is pinned; rate.py RUN --calibrate measures the other scripted players",
}
TITLE: Final = "═══ Elo Leaderboard ═══"
_HEAD: Final = ("Rank", "Policy", "Elo", "95% interval", "W", "L", "D", "Games", "By stocks")


def to_json(board: Leaderboard, show_all: bool = False) -> str:
    """The rows that the text shows and all facts, as JSON with two spaces of indentation."""
    shown = board if show_all else board.model_copy(update={"rows": board.top()})
    return shown.model_dump_json(indent=2)


def to_csv(board: Leaderboard) -> str:
    """Every player, a line each, with all columns; no interval is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [name for name in type(board.rows[0]).model_fields if name != "ranks"] if board.rows else ["policy"]
    writer.writerow([*columns, "rank_best", "rank_worst"])
    for row in board.rows:
        writer.writerow([*(getattr(row, name) for name in columns), *row.ranks])
    return text.getvalue()


def to_text(board: Leaderboard, show_all: bool = False) -> str:
    """Title, a table in Markdown, and what it was made of. No line end behind the last line."""
    rows, notes = _shown(board, show_all), _notes(board, show_all)
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    lines = [TITLE, _markdown(_HEAD, widths), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    lines += [_markdown(line, widths) for line in cells[1:]]
    return "\n".join([*lines, *notes])


def to_table(board: Leaderboard, show_all: bool = False) -> RenderableType:
    """The same for a rich console."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=TITLE, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)  # fits 80 columns
    for name in _HEAD:
        table.add_column(name, justify="left" if name in {"Policy", "95% interval"} else "right", no_wrap=True)
    for row in _shown(board, show_all):
        style = "bold" if row.policy == board.newest else "dim" if row.scripted else ""
        table.add_row(*_cells(row), style=style)
    return Group(table, *(Text(note) for note in _notes(board, show_all)))


def _shown(board: Leaderboard, show_all: bool) -> Sequence[Row]:
    return board.rows if show_all else board.top()


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(row.rank),
        f"{row.policy} (bot)" if row.scripted else row.policy,
        f"{row.elo:.0f}",
        interval(row),
        str(row.wins),
        str(row.losses),
        str(row.draws),
        str(row.games),
        "" if row.by_stocks is None else f"{row.by_stocks:.0%}",
    )


def interval(row: Row) -> str:
    """The interval in words where the games leave one side open, as after a perfect score."""
    if row.low is None or row.high is None:
        return ""
    if row.fixed:
        return "fixed"
    low, high = f"{row.low:.0f}", f"{row.high:.0f}"
    texts = {"both": f"{low} to {high}", "below": f"{low} or more", "above": f"{high} or less", "none": "unknown"}
    return texts[row.bound]


def _fit(board: Leaderboard) -> list[str]:
    """What the games say about the ratings themselves, in one line."""
    if board.fit.misfit_p is None:
        return []
    side = (
        ""
        if board.fit.side is None
        else ", the first seat is worth {:+.0f} Elo ({:+.0f} to {:+.0f})".format(*board.fit.side)
    )
    return [f"fit: misfit p = {board.fit.misfit_p:.2g}, {len(board.fit.cycles)} cycles{side}"]


def _markdown(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        f"{cell:<{width}}" if name in {"Policy", "95% interval"} else f"{cell:>{width}}"
        for name, cell, width in zip(_HEAD, cells, widths, strict=True)
    )
    return "| " + " | ".join(padded) + " |"


def _notes(board: Leaderboard, show_all: bool) -> list[str]:
    method = "batch Bradley-Terry" if board.method == "batch" else "sequential Elo (depends on the order of the games)"
    notes = [
        f"{method}, {board.anchor} = 1500; {board.games} games, {board.draw_share:.0%} draws, "
        + (
            f"from {board.settings}"
            if board.decided_by_stocks is None
            else f"{board.decided_by_stocks:.0%} decided by stocks; rule {board.rule}, settings {board.settings}"
        )
    ]
    if board.progress is not None and board.method == "batch":
        gain = board.progress
        notes.append(
            f"progress: {board.newest} is {gain.elo:+.0f} Elo ({gain.low:+.0f} to {gain.high:+.0f}) from {START}; "
            f"stronger with likelihood {gain.superiority:.1%}"
        )
    notes += _fit(board)
    if board.method == "batch" and board.decided_by_stocks is not None:
        notes.append(ANCHORS[board.anchors])
    if hidden := len(board.rows) - len(_shown(board, show_all)):
        notes.append(f"{hidden} more players: --all")
    notes += [f"Left out: {count} games {reason}." for reason, count in board.left_out.items()]
    return notes + [f"Warning: {warning}" for warning in board.warnings]
