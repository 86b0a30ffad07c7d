"""The leaderboard as text, as a table for a terminal, and as JSON."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selfplay.league.leaderboard import MISFIT_ALARM
from selfplay.league.records import START, ladder_key
from selfplay.league.scale import A_GAME

if TYPE_CHECKING:
    from rich.console import RenderableType

    from selfplay.league.leaderboard import Leaderboard
    from selfplay.league.rows import LeaderboardRow, PartnerReward
    from selfplay.league.scale import Scale

ANCHORS: Final = {
    "shipped": "anchors: scripted players and shipped policies pinned by the project's table for these settings",
    "run": "anchors: scripted players pinned by this run's own calibration",
    None: "anchors: only random is pinned; selfplay rate RUN --calibrate measures the other scripted players",
}
AT_THE_LIMIT: Final = "at the time limit the player who is ahead wins"
PEOPLE: Final = "their games rate the people alone, with all other players held at their ratings"
RATING, PAYOFF = "Rating", "Mean payoff"  # headers of figures in payoffs
_LEFT: Final = {"Policy", "95% interval"}
FINISHED, WITH_ITSELF = "Finished", "Reward with itself"  # headers of the last column
ITSELF: Final = "itself"
_OPTIONAL: Final = (FINISHED, WITH_ITSELF, "Games", PAYOFF, "95% interval")
"""Columns that are left out in this order where there is no room."""
_SHORTEST: Final = 8  # characters of a clipped name
Row = Sequence[str]


def to_json(board: Leaderboard, show_all: bool = False) -> str:
    """The leaderboard as indented JSON, with the same rows as the text."""
    shown = board if show_all else board.model_copy(update={"rows": board.top()})
    return shown.model_dump_json(indent=2)


def to_csv(board: Leaderboard) -> str:
    """All players with all columns as CSV; missing values are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    apart = {"ranks", "rewards"}
    columns = [name for name in type(board.rows[0]).model_fields if name not in apart] if board.rows else ["policy"]
    partners = partners_of(board, show_all=True)
    if plays_with_itself(board):
        partners = [ITSELF, *partners]
    paid = [f"{figure}_with_{partner}" for partner in partners for figure in ("reward", "interval", "games")]
    writer.writerow([*columns, "rank_best", "rank_worst", *paid])
    for row in board.rows:
        cells = [_with(row, partner) for partner in partners]
        figures = [value for c in cells for value in ((c.reward, c.interval, c.games) if c else ("", "", ""))]
        writer.writerow([*(getattr(row, name) for name in columns), *row.ranks, *figures])
    return text.getvalue()


def to_text(board: Leaderboard, show_all: bool = False, width: int | None = None) -> str:
    """Title, Markdown table and notes, without a final newline; columns that do not fit into ``width`` are left out."""
    rows = [_cells(row, board) for row in _shown(board, show_all)]
    lines = [title(board), *_table(*_fitting(head(board), rows, _OPTIONAL, width, between=3))]
    return "\n".join([*lines, *_notes(board, show_all), *_rewards(board, show_all, width)])


def terminal_width() -> int | None:
    """Columns of the terminal that standard output goes to; None where it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def to_table(board: Leaderboard, show_all: bool = False, width: int | None = None) -> RenderableType:
    """The same for rich."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title(board), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown = _shown(board, show_all)
    names, rows = _fitting(head(board), [_cells(row, board) for row in shown], _OPTIONAL, width, between=2)
    for name in names:
        table.add_column(name, justify="left" if name in _LEFT else "right", no_wrap=True)
    for row, cells in zip(shown, rows, strict=True):
        style = "bold" if row.policy == board.newest else "dim" if row.scripted else ""
        table.add_row(*cells, style=style)
    notes = (*_notes(board, show_all), *_rewards(board, show_all, width))
    return Group(table, *(Text(note) for note in notes))


def _shown(board: Leaderboard, show_all: bool) -> Sequence[LeaderboardRow]:
    return board.rows if show_all else board.top()


def partners_of(board: Leaderboard, show_all: bool = False) -> list[str]:
    """Partners in games with partners: all, or scripted players, the start and the newest generation."""
    met = {cell.partner for row in board.rows for cell in row.rewards}
    few = {row.policy for row in board.rows if row.scripted} | {START, board.newest}
    return sorted(met if show_all else met & few, key=ladder_key)


def _with(row: LeaderboardRow, partner: str) -> PartnerReward | None:
    return row.reward_with(row.policy if partner == ITSELF else partner)


def paid(cell: PartnerReward | None) -> str:
    """A mean reward with its interval and number of games."""
    if cell is None:
        return ""
    return f"{cell.reward:.3f}{'' if cell.interval is None else f' ± {cell.interval:.3f}'} ({cell.games})"


def _rewards(board: Leaderboard, show_all: bool, width: int | None) -> list[str]:
    """Table of mean rewards by partner."""
    partners = partners_of(board, show_all)
    if not partners:
        return []
    rows = [(row.policy, *(paid(row.reward_with(name)) for name in partners)) for row in _shown(board, show_all)]
    return [
        "Mean reward of the row's player with the column's, 95% interval, games:",
        *_table(*_fitting(("Policy", *partners), rows, partners[::-1], width, between=3)),
    ]


def title(board: Leaderboard) -> str:
    return "═══ Leaderboard ═══" if board.scale.by_payoff else "═══ Elo Leaderboard ═══"


def head(board: Leaderboard) -> tuple[str, ...]:
    rating = (RATING, "95% interval", PAYOFF) if board.scale.by_payoff else ("Elo", "95% interval")
    names = ("Rank", "Policy", *rating, *(() if board.scale.shared else ("W", "L", "D")), "Games")
    if board.finished is not None:
        return (*names, FINISHED)
    return (*names, WITH_ITSELF) if plays_with_itself(board) else names


def plays_with_itself(board: Leaderboard) -> bool:
    """Return True if any player has games with itself as partner."""
    return any(_with(row, ITSELF) for row in board.rows)


def _cells(row: LeaderboardRow, board: Leaderboard) -> tuple[str, ...]:
    cells = (
        str(row.rank),
        f"{row.name}{_mark(row, board)}",
        f"{row.rating:{board.scale.form}}",
        interval(row, board.scale),
        *((mean_payoff(row, board.scale),) if board.scale.by_payoff else ()),
        *(() if board.scale.shared else (str(row.wins), str(row.losses), str(row.draws))),
        str(row.games),
    )
    if board.finished is not None:
        return (*cells, "" if row.finished is None else f"{row.finished:.0%}")
    return (*cells, paid(_with(row, ITSELF))) if plays_with_itself(board) else cells


def _won(row: LeaderboardRow, scale: Scale) -> str:
    if scale.by_payoff:
        return f" {scale.unit}"
    return f", won {row.wins} of {row.games}" if row.met else ""


def _mark(row: LeaderboardRow, board: Leaderboard) -> str:
    if row.policy == board.newest:
        return " (newest)"
    return " (bot)" if row.scripted else " (person)" if row.person else ""


def interval(row: LeaderboardRow, scale: Scale) -> str:
    """The interval as text, with an open end for a perfect score."""
    return "" if row.ends is None else scale.interval(row.ends)


def mean_payoff(row: LeaderboardRow, scale: Scale) -> str:
    """Mean payoff of all games with its 95% interval; empty without games."""
    if row.payoff is None or row.payoff_error is None:
        return ""
    return f"{row.payoff:{scale.form}} ± {row.payoff_error:{scale.form[1:]}}"


def beats(board: Leaderboard) -> str:
    """Players that the newest generation beats, in a sentence without its stop; empty if there are none."""
    if not board.beats:
        return ""
    strongest, *others = board.beats
    names = [other.player for other in others]
    more = f", and the weaker {', '.join(names)}" if names else ""
    return f"{board.newest} beats {strongest.text(board.scale)}{more}"


def progress(board: Leaderboard) -> str:
    """How far the newest generation is from the start, in a sentence without its stop; empty if unknown."""
    gain = board.progress
    if gain is None:
        return ""
    return f"{board.newest} is {board.scale.gap(gain.rating, gain.ends)} from {START}"


def better(board: Leaderboard) -> str:
    """What a player with more payoff is: players that share it do not beat each other."""
    return "better" if board.scale.shared else "stronger"


def reference(board: Leaderboard) -> str:
    """What the numbers of the scale mean."""
    scale = board.scale
    if scale.shared:
        return f"two players are paid the mean of their ratings; all games paid {scale.origin:{scale.form}}"
    return f"{board.anchor} = {scale.origin:.0f}"


def played_for(board: Leaderboard) -> str:
    """What payoffs are and how they count; empty where wins count."""
    scale, unit = board.scale, board.scale.unit
    if not scale.by_payoff:
        return ""
    what = f"played for {unit.removesuffix(A_GAME)}"
    if scale.shared:
        return f"{what} that both players share: ratings and payoffs are {unit}, and no player can beat the other"
    if plays_with_itself(board):
        return (
            f"{what}: ratings and payoffs are {unit}; a difference of ratings is that of the payoffs of two players on "
            "the same state, in the same seat, with the same partner"
        )
    return (
        f"{what}: ratings and payoffs are {unit}; a difference of ratings is what the one player wins from the other, "
        "or half the difference of their payoffs if those do not add up to zero"
    )


def _fit(board: Leaderboard) -> list[str]:
    """Goodness of fit, in one line."""
    if board.fit.misfit_p is None:
        return []
    side = (
        ""
        if board.fit.side is None
        else f", the first seat is worth {board.scale.gap(board.fit.side[0], board.fit.side[1:])}"
    )
    return [f"fit: {agreement(board.fit.misfit_p)}, {len(board.fit.cycles)} cycles{side}"]


def agreement(p: float) -> str:
    """The result of the test of misfit in words."""
    agree = "agree" if p >= MISFIT_ALARM else "do not agree"
    return f"the results {agree} with one rating per player (p = {p:.2g}, the limit is {MISFIT_ALARM:g})"


def _fitting(
    head: Row, rows: Sequence[Row], optional: Sequence[str], width: int | None, between: int
) -> tuple[Row, Sequence[Row]]:
    """A table without the optional columns that do not fit, the first of them first; then names of players are clipped.

    ``between`` are the characters between two columns; with ``width`` None all fit.
    """
    if width is None:
        return head, rows
    room = width - 1
    here = list(range(len(head)))
    widths = _widths(head, rows)
    left_out = [head.index(name) for name in optional if name in head][::-1]

    def excess() -> int:
        return sum(widths[i] + between for i in here) - room

    while excess() > 0 and left_out:
        here.remove(left_out.pop())
    policy = head.index("Policy")
    longest = max(widths[policy] - max(excess(), 0), _SHORTEST)

    def cells(row: Row) -> Row:
        name = row[policy] if len(row[policy]) <= longest else f"{row[policy][: longest - 2]}.."
        return [name if i == policy else row[i] for i in here]

    return cells(head), [cells(row) for row in rows]


def _widths(head: Row, rows: Sequence[Row]) -> list[int]:
    return [max(map(len, column)) for column in zip(head, *rows, strict=True)]


def _table(head: Row, rows: Sequence[Row]) -> list[str]:
    widths = _widths(head, rows)
    ruler = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [_markdown(head, head, widths), ruler, *(_markdown(row, head, widths) for row in rows)]


def _markdown(cells: Row, head: Row, widths: Sequence[int]) -> str:
    padded = (
        f"{cell:<{width}}" if name in _LEFT else f"{cell:>{width}}"
        for name, cell, width in zip(head, cells, widths, strict=True)
    )
    return "| " + " | ".join(padded) + " |"


def method(board: Leaderboard) -> str:
    """How the ratings were computed."""
    if board.scale.by_payoff:
        return "least squares on payoffs"
    return "batch Bradley-Terry" if board.method == "batch" else "sequential Elo (depends on the order of the games)"


def _notes(board: Leaderboard, show_all: bool) -> list[str]:
    how = "the higher reward wins" if board.finished is None else f"{board.finished:.0%} finished; {AT_THE_LIMIT}"
    how = f"from {board.settings}" if board.external else how
    counts = f"{board.games} games, {board.draw_share:.0%} draws, {how}"
    counts = f"{board.games} games" if board.scale.by_payoff else counts
    notes = [f"{method(board)}, {reference(board)}; {counts}"]
    if board.scale.by_payoff:
        notes.append(played_for(board))
    if board.progress is not None and board.method == "batch":
        notes.append(f"progress: {progress(board)}; {better(board)} with likelihood {board.progress.superiority:.1%}")
    if board.method == "batch" and (text := beats(board)):
        notes.append(text)
    notes += _fit(board)
    if board.method == "batch" and not (board.external or board.scale.shared):
        notes.append(ANCHORS[board.anchors])
    if any(row.person for row in board.rows):
        notes.append(f"people: {PEOPLE}")
    stronger = () if show_all else board.stronger()
    if stronger:
        names = ", ".join(f"{row.name} ({row.rating:{board.scale.form}}{_won(row, board.scale)})" for row in stronger)
        notes.append(f"{better(board)} than every generation: {names}; --all lists them too")
    if hidden := len(board.rows) - len(_shown(board, show_all)) - len(stronger):
        notes.append(f"{hidden} more {'player' if hidden == 1 else 'players'}: --all")
    notes += [f"Left out: {count} game{'s' * (count != 1)} {reason}." for reason, count in board.left_out.items()]
    return notes + [f"Warning: {warning}" for warning in board.warnings]
