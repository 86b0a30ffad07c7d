"""Results of the study of growth: a document, a table, and a chart of time over size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.growth.series import NOISE, Series
from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown
from selfplay.checkpoint.store import write_file

if TYPE_CHECKING:
    from pathlib import Path

AXES: Final = {
    "games": "games in a block",
    "players": "players on the ladder",
    "generations": "generations of the run",
    "ledger": "rows of the ledger",
}


def document(series: Sequence[Series]) -> dict[str, Any]:
    """All figures, as JSON types."""
    return {**measured_here(), "noise": NOISE, "series": [one.document() for one in series]}


def table(series: Sequence[Series]) -> str:
    """Cost of each operation at the first, a middle and the last size, its exponent and bar, in Markdown."""
    rows = []
    for one in series:
        ends = [_point(one, i) for i in (0, len(one.sizes) // 2, -1)]
        bar, holds = f"{one.allowed:.2f} ({one.bar})", "yes" if one.holds else "**no**"
        rows.append((one.axis, one.name, *ends, f"{one.exponent:.2f}", bar, holds))
    return markdown(("by", "what", "from", "middle", "to", "exponent", "bar", "holds"), rows)


def write(docs: Path, series: Sequence[Series]) -> None:
    """Put figures, table and chart into the documentation."""
    write_json(docs / "data" / "growth.json", document(series))
    put_between(docs / "performance.md", "growth", table(series))
    write_file(docs / "data" / "growth.svg", chart(series).encode())


def shown(value: float, unit: str) -> str:
    """Seconds or bytes as text, with three digits."""
    steps = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if unit == "s" else (("MB", 1e6), ("kB", 1e3), ("B", 1.0))
    name, size = next(((name, size) for name, size in steps if value >= size), steps[-1])
    return f"{value / size:.3g} {name}" if value / size < 1000 else f"{value / size:,.0f} {name}"


def chart(series: Sequence[Series]) -> str:
    """Time over size on logarithmic scales as SVG, a plot for each axis, beside a curve that grows as n log n."""
    axes = dict.fromkeys(one.axis for one in series)
    return lines(*(_plot(axis, [one for one in series if one.axis == axis and one.unit == "s"]) for axis in axes))


def _point(one: Series, index: int) -> str:
    return f"{one.sizes[index]:,}: {shown(one.values[index], one.unit)}"


def _plot(axis: str, series: Sequence[Series]) -> Plot:
    curves = [Curve(f"{one.name} ({one.exponent:.2f})", one.sizes, one.values) for one in series]
    sizes, values = sorted({size for one in series for size in one.sizes}), [y for one in series for y in one.values]
    grown = [min(values) * size * math.log(size + 1) / (sizes[0] * math.log(sizes[0] + 1)) for size in sizes]
    inside = [(size, value) for size, value in zip(sizes, grown, strict=True) if value <= max(values)]
    guide = Curve("n log n", [size for size, _ in inside], [value for _, value in inside], reference=True)
    return Plot([*curves, guide], AXES.get(axis, axis), "processor time, s", logarithmic=True)
