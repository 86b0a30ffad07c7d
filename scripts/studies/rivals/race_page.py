"""Curves and table of a race, for ``docs/performance.md``."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.cells import Cell, Cells
from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.pages import put_between
from scripts.studies.rivals.running import OURS
from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MARKER: Final = "race"


def read_cells(path: Path) -> list[Cell]:
    """All finished cells, ours first, then by name and seed.

    Raises:
        ConfigError: there is none.
    """
    found = Cells(path)
    cells = found.read(found.names("*-*"))
    if not cells:
        raise ConfigError(f"{path} has no finished cells")
    return sorted(cells, key=lambda cell: (cell["system"] != OURS, cell["system"], cell["seed"]))


def reached(points: Sequence[dict[str, Any]], score: float) -> float | None:
    """Minutes at which a curve, interpolated linearly, first reaches a score; None if it never does."""
    before = None
    for point in points:
        if point["score"] >= score:
            if before is None:
                return float(point["minutes"])
            share = (score - before["score"]) / (point["score"] - before["score"])
            return float(before["minutes"] + share * (point["minutes"] - before["minutes"]))
        before = point
    return None


def table(cells: Sequence[Cell]) -> str:
    """Final strength of each run, and when our run of the same seed reached it, in Markdown."""
    ours = {cell["seed"]: cell for cell in cells if cell["system"] == OURS}
    lines = [
        "| trainer | seed | strength at the end | minutes | minutes until ours is as strong |",
        "|---|--:|--:|--:|--:|",
    ]
    for cell in cells:
        last = cell["points"][-1]
        when = ""
        if cell["system"] != OURS and cell["seed"] in ours:
            at = reached(ours[cell["seed"]]["points"], last["score"])
            when = "not reached" if at is None else f"{at:.1f}"
        lines.append(f"| {cell['system']} | {cell['seed']} | {last['score']:.3f} | {last['minutes']:g} | {when} |")
    return "\n".join(lines)


def chart(cells: Sequence[Cell]) -> str:
    """Mean and range over the seeds of each system, as SVG."""
    curves = []
    for name in dict.fromkeys(cell["system"] for cell in cells):
        runs = [cell["points"] for cell in cells if cell["system"] == name]
        minutes = sorted(set.intersection(*({point["minutes"] for point in run} for run in runs)))
        scores = [[point["score"] for run in runs for point in run if point["minutes"] == mark] for mark in minutes]
        curves.append(Curve(name, minutes, [*map(fmean, scores)], [*map(min, scores)], [*map(max, scores)]))
    return lines(Plot(curves, "minutes of training", "score against the scripted players, mean and range"))


def write(docs: Path) -> None:
    """Show the cells of ``docs/data/race.json`` in ``docs/performance.md``.

    Raises:
        ConfigError: there are none.
    """
    cells = read_cells(docs / "data" / "race.json")
    write_file(docs / "data" / "race.svg", chart(cells).encode())
    put_between(docs / "performance.md", MARKER, f"{table(cells)}\n\n![Strength over minutes](data/race.svg)")
