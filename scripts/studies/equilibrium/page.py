"""The tables of ``docs/trainer/internals/truth.md`` from the cells."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal

from scripts.studies import ROOT
from scripts.studies.equilibrium.names import GAMES, METHODS
from scripts.studies.pages import put_between, table
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scripts.studies.equilibrium.cells import Cell

PAGE: Final = ROOT / "docs" / "trainer/internals" / "truth.md"
HEAD: Final = (
    "game",
    "method",
    "policy",
    "minutes",
    "seeds",
    "NashConv, worst seed",
    "best seed",
    "at a quarter of the time, worst",
    "million steps",
)
Which = Literal["last", "average"]


def text(cells: Sequence[Cell]) -> str:
    """The results in Markdown: the games, then a row for each game, method, policy and time.

    Raises:
        ConfigError: there are no cells.
    """
    if not cells:
        raise ConfigError("there are no cells: measure some, without --page")
    groups: dict[tuple[str, str, float], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.game, cell.method, cell.minutes].append(cell)
    rows = [row for key in sorted(groups, key=_order) for row in _rows(groups[key])]
    return f"{_games(cells)}\n\n{table(HEAD, rows)}\n\n{_machines(cells)}"


def _order(key: tuple[str, str, float]) -> tuple[int, int, str, float]:
    game, method, minutes = key
    known = METHODS.index(method) if method in METHODS else len(METHODS)
    return [*GAMES].index(game), known, method, minutes


def _rows(group: Sequence[Cell]) -> Iterable[Sequence[object]]:
    policies: tuple[Which, ...] = ("last", "average")
    for policy in policies:
        ends = [value for cell in group if (value := getattr(cell.points[-1], policy)) is not None]
        if len(ends) < len(group):
            continue
        quarters = [_at(cell, 0.25, policy) for cell in group]
        steps = max(cell.points[-1].steps for cell in group) / 1e6
        yield (
            group[0].game, group[0].method, policy, f"{group[0].minutes:g}", len(group),
            f"**{_figure(max(ends))}**", _figure(min(ends)), _figure(max(quarters)), f"{steps:.3g}",
        )  # fmt: skip


def _at(cell: Cell, share: float, policy: Which) -> float:
    """NashConv of the last measurement before a share of the time, or at most a tenth later; else of the first."""
    before = [point for point in cell.points if point.seconds <= 1.1 * share * 60 * cell.minutes]
    return float(getattr((before or cell.points[:1])[-1], policy))


def _figure(value: float) -> str:
    return f"{value:.3g}" if value >= 0.001 else f"{value:.0e}" if value > 0 else "0"


def _games(cells: Sequence[Cell]) -> str:
    found = {cell.game: cell for cell in cells}
    rows = [
        (name, f"`{GAMES[name]}`", f"{cell.information_states:,}", f"{cell.nodes:,}", f"{cell.uniform:.4g}")
        for name in GAMES
        if (cell := found.get(name))
    ]
    return table(("game", "of OpenSpiel", "information states", "states", "NashConv of uniform play"), rows)


def _machines(cells: Iterable[Cell]) -> str:
    places = sorted({(cell.date, cell.processor, cell.cores) for cell in cells})
    versions = sorted({f"{name} {value}" for cell in cells for name, value in cell.versions.items()})
    where = "; ".join(f"{date}, {processor}, {cores} cores" for date, processor, cores in places)
    return f"Measured: {where}. {', '.join(versions)}."


def write(cells: Sequence[Cell]) -> None:
    """Write the tables into the page."""
    put_between(PAGE, "equilibrium", text(cells))
