"""Exact figures of a run on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape


def exact_section(
    unit: str, nodes: int, nash_conv: Mapping[str, float], players: Sequence[str], payoffs: Sequence[Sequence[float]]
) -> str:
    """A section on NashConv, by generation and mixture, and on mean payoffs of the row's player."""
    matrix = [(player, [f"{value:+z.4f}" for value in row]) for player, row in zip(players, payoffs, strict=True)]
    recommended = " Recommended: drawn by Nash averaging." if "recommended" in nash_conv else ""
    return (
        f'<section id="exact"><h2>Exactly</h2>'
        f'<p class="quiet">From all {nodes:,} states of the game, in {escape(unit)}: nothing here is estimated.</p>'
        f"<h3>NashConv</h3>{_table(['Player', 'NashConv'], [(k, [f'{v:.4f}']) for k, v in nash_conv.items()])}"
        '<p class="quiet">What best replies gain over the player itself, summed over both seats; 0 in an equilibrium. '
        f"Average: a generation of the second half is drawn for each game.{recommended}</p>"
        f"<h3>Mean payoff</h3>{_table(['Player', *players], matrix)}"
        "<p class=\"quiet\">Of the row's player against the column's, with each seat equally often.</p></section>"
    )


def without(reason: str) -> str:
    """The same section where there are no such figures."""
    return f'<section id="exact"><h2>Exactly</h2><p class="quiet">No exact figures: {escape(reason)}.</p></section>'


def _table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, cells in rows
    )
    return f'<div class="scroll"><table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
