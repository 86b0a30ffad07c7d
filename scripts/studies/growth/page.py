"""Results of the study of growth: a document, a table, and a chart of time over size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from PIL import Image, ImageDraw, ImageFont

from scripts.studies.growth.series import NOISE, Series
from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown

if TYPE_CHECKING:
    from pathlib import Path

Place = Callable[[float, float], tuple[float, float]]
PLOT, MARGIN, LEGEND = (420, 330), (70, 34, 44, 46), 150  # pixels: of a plot; left, top, right and below; its names
COLOURS: Final = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
    "#003f5c", "#a05195", "#665191",
)  # fmt: skip


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
    chart(series).save(docs / "growth.png", optimize=True)


def shown(value: float, unit: str) -> str:
    """Seconds or bytes as text, with three digits."""
    steps = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if unit == "s" else (("MB", 1e6), ("kB", 1e3), ("B", 1.0))
    name, size = next(((name, size) for name, size in steps if value >= size), steps[-1])
    return f"{value / size:.3g} {name}" if value / size < 1000 else f"{value / size:,.0f} {name}"


def chart(series: Sequence[Series]) -> Image.Image:
    """Time over size on logarithmic scales, a plot for each axis; a dashed line grows as n log n."""
    axes = list(dict.fromkeys(one.axis for one in series))
    width, height = PLOT[0] + MARGIN[0] + MARGIN[2], PLOT[1] + MARGIN[1] + MARGIN[3] + LEGEND
    canvas = Image.new("RGB", (width * min(len(axes), 2), height * math.ceil(len(axes) / 2)), "white")
    for number, axis in enumerate(axes):
        corner = (number % 2 * width, number // 2 * height)
        _plot(canvas, corner, axis, [one for one in series if one.axis == axis and one.unit == "s"])
    return canvas


def _point(one: Series, index: int) -> str:
    return f"{one.sizes[index]:,}: {shown(one.values[index], one.unit)}"


def _plot(canvas: Image.Image, corner: tuple[int, int], axis: str, series: Sequence[Series]) -> None:
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(12)
    left, top = corner[0] + MARGIN[0], corner[1] + MARGIN[1]
    sizes = [math.log10(size) for one in series for size in one.sizes]
    values = [math.log10(value) for one in series for value in one.values]
    low, high = math.floor(min(values)), math.ceil(max(values))
    first, last = min(sizes), max(max(sizes), min(sizes) + 0.1)

    def place(x: float, y: float) -> tuple[float, float]:
        return left + (x - first) / (last - first) * PLOT[0], top + (high - y) / (high - low) * PLOT[1]

    draw.text((left, corner[1] + 10), f"processor seconds by {axis}", "black", font)
    for power in range(low, high + 1):
        draw.line([place(first, power), place(last, power)], "#dddddd")
        draw.text((corner[0] + 8, place(first, power)[1] - 7), f"{10.0**power:g}", "black", font)
    for power in range(math.ceil(first), math.floor(last) + 1):
        draw.line([place(power, low), place(power, high)], "#dddddd")
        draw.text((place(power, low)[0] - 4 * power - 4, top + PLOT[1] + 6), f"{10**power:,}", "black", font)
    draw.rectangle([left, top, left + PLOT[0], top + PLOT[1]], outline="#444444")
    _dashed(draw, place, (first, last), (low, high))
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        line = [place(math.log10(x), math.log10(y)) for x, y in zip(one.sizes, one.values, strict=True)]
        draw.line(line, colour, 2)
        at = (left + number % 2 * 230 - 50, top + PLOT[1] + 28 + number // 2 * 17)
        draw.text(at, f"{one.name} ({one.exponent:.2f})", colour, font)


def _dashed(draw: ImageDraw.ImageDraw, place: Place, x: tuple[float, float], y: tuple[float, float]) -> None:
    """A line that grows as n log n, from the lower left corner as far as it stays in the plot."""
    steps = [x[0] + (x[1] - x[0]) * i / 79 for i in range(80)]
    grown = [step + math.log10(max(step, 0.3)) for step in steps]
    line = [place(s, y[0] + g - grown[0]) for s, g in zip(steps, grown, strict=True) if y[0] + g - grown[0] <= y[1]]
    for begin, end in zip(line[::2], line[1::2], strict=False):
        draw.line([begin, end], "#999999")
