"""The leaderboard as a sortable HTML table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final

from selfplay.league.render import FINISHED, WITH_ITSELF, head, interval, mean_payoff, paid, partners_of

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.league.rows import LeaderboardRow

_INTERVAL: Final = "of the rating, relative to the pinned players; all bars have the same scale"
_NASH: Final = ("Nash", "weight in the Nash mixture, which no player beats")
_LAST: Final = {
    FINISHED: "share of the games that did not reach the time limit",
    WITH_ITSELF: "mean reward where both seats are this player, its 95% interval, games",
}
"""Tooltips of the last column, by header."""


def table(board: Leaderboard, play: Mapping[str, str]) -> str:
    """The table as HTML; ``data-v`` of a cell is its sort key. ``play`` has addresses of play pages by player."""
    heads = "".join(
        f'<th scope="col" class="{"text" if name == "Player" else ""}" title="{escape(hint)}">'
        f"<button>{name}</button></th>"
        for name, hint in (*_columns(board), *_last_column(board))
    )
    ends = _ends(board)
    shown = {row.policy for row in board.top()}
    rows = "\n".join(_row(row, board, ends, play.get(row.policy), more=row.policy not in shown) for row in board.rows)
    return f'<table id="board"><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>'


def _columns(board: Leaderboard) -> list[tuple[str, str]]:
    """Headers and tooltips, without the last column."""
    scale, hint = board.scale, f"{board.scale.unit}, see below"
    rating = [("Rating", hint)] if scale.by_payoff else [("Elo", "")]
    payoff = [("Mean payoff", f"{hint}; of its own games, with its 95% interval")] if scale.by_payoff else []
    return [
        ("Rank", "by rating"),
        ("Player", ""),
        *rating,
        ("95% interval", _INTERVAL),
        *payoff,
        ("Ranks", "best and worst possible rank, simultaneously for all players (95%)"),
        ("Above next", "probability of being stronger than the next player"),
        *([] if scale.shared else [_NASH, ("W", "wins"), ("L", "losses"), ("D", "draws")]),
        ("Games", ""),
    ]


def _row(row: LeaderboardRow, board: Leaderboard, ends: tuple[float, float], play: str | None, *, more: bool) -> str:
    kind = "scripted" if row.scripted else "person" if row.person else "generation"
    label = "bot" if row.scripted else "person" if row.person else ""  # a bot may be a shipped policy
    link = "" if play is None else f' <a href="{escape(play)}">play</a>'
    marks = " ".join(name for name, is_so in (("newest", row.policy == board.newest), ("more", more)) if is_so)
    low, high = row.low or 0.0, row.high or 0.0
    best, worst = row.ranks
    results = () if board.scale.shared else (row.wins, row.losses, row.draws)
    cells = (
        _cell(str(row.rank), row.rank),
        f'<th scope="row" data-v="{escape(row.name)}">{escape(row.name)}'
        f"{f' <small>{label}</small>' if label else ''}{link}</th>",
        _cell(f"{row.rating:{board.scale.form}}", row.rating),
        _cell(
            f'<span class="words">{escape(interval(row, board.scale))}</span>{_bar(row, ends)}', high - low, "interval"
        ),
        *([_cell(mean_payoff(row, board.scale), row.payoff)] if board.scale.by_payoff else []),
        _cell(str(best) if best == worst else f"{best}–{worst}", best + worst / 1e4),
        _cell("" if row.above_next is None else percent(row.above_next), row.above_next),
        *([] if row.nash is None else [_cell(percent(row.nash) if row.nash >= 5e-4 else "–", row.nash)]),
        *(_cell(str(count), count) for count in (*results, row.games)),
        *_last(row, board),
    )
    return f'<tr data-kind="{kind}" class="{marks}">{"".join(cells)}</tr>'


def _last_column(board: Leaderboard) -> list[tuple[str, str]]:
    name = head(board)[-1]
    return [(name, _LAST[name])] if name in _LAST else []


def _last(row: LeaderboardRow, board: Leaderboard) -> list[str]:
    if board.finished is not None:
        return [_cell("" if row.finished is None else f"{row.finished:.0%}", row.finished)]
    alone = row.reward_with(row.policy)
    return [_cell(paid(alone), None if alone is None else alone.reward)] if _last_column(board) else []


def rewards(board: Leaderboard) -> str:
    """Table of mean rewards by partner; empty except for games with partners."""
    partners = partners_of(board)
    if not partners:
        return ""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in partners)
    rows = "".join(
        f'<tr><th scope="row">{escape(row.policy)}</th>'
        + "".join(f"<td>{escape(paid(row.reward_with(name)))}</td>" for name in partners)
        + "</tr>"
        for row in board.top()
    )
    return (
        "<h3>Mean reward</h3>"
        f'<div class="scroll"><table class="plain"><thead><tr><th scope="col">Player</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        "<p class=\"quiet\">Reward of the row's player with the column's player: mean, 95% interval and games. Equal "
        "names mean that the player plays with itself.</p>"
    )


def _cell(shown: str, value: float | None, kind: str = "") -> str:
    sorted_by = "" if value is None else format(value, ".6g")
    return f'<td data-v="{sorted_by}" class="{kind}">{shown}</td>'


def percent(share: float) -> str:
    """A probability in percent, never rounded to 0% or 100%."""
    return ">99.9%" if share > 0.999 else "<0.1%" if 0.0 < share < 0.001 else f"{share:.1%}"


def _ends(board: Leaderboard) -> tuple[float, float]:
    """Ends of the axis of all bars."""
    ends = [row.rating for row in board.rows]
    ends += [end for row in board.rows for end in row.ends or () if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    margin = 0.03 * (high - low) or 1.0
    return low - margin, high + margin


def _bar(row: LeaderboardRow, ends: tuple[float, float]) -> str:
    """Rating and interval as a bar; an unbounded side extends to the edge."""
    bottom, top = ends

    def at(rating: float) -> str:
        return f"{100.0 * min(max((rating - bottom) / (top - bottom), 0.0), 1.0):.1f}%"

    line = ""
    if row.ends is not None and not row.fixed:
        low, high = row.ends
        left, right = "0%" if low is None else at(low), "100%" if high is None else at(high)
        line = f'<line x1="{left}" x2="{right}" y1="50%" y2="50%"/>'
    shape = f'<circle cx="{at(row.rating)}" cy="50%" r="3"/>'
    return f'<svg class="bar{" fixed" if row.fixed else ""}" aria-hidden="true">{line}{shape}</svg>'
