"""Curves with intervals as a small SVG, for pages that git shows; no plotting library needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 130, 20, 40
COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: points (x, y), and the ends of an interval around each y where there is one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def svg(curves: Sequence[Curve], x_label: str, y_label: str, levels: Sequence[tuple[str, float]] = ()) -> str:
    """A chart of all curves; ``levels`` are named horizontal lines.

    Raises:
        ValueError: no curve has a point.
    """
    xs = [x for curve in curves for x in curve.x]
    ys = [y for curve in curves for part in (curve.y, curve.low, curve.high) for y in part]
    ys += [level for _, level in levels]
    if not xs:
        raise ValueError("a chart needs at least one point")
    frame = _Frame(min(xs), max(xs), min(ys), max(ys))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *frame.axes(x_label, y_label),
    ]
    for name, level in levels:
        y = frame.y(level)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#bbb" stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y + 4:.1f}" fill="#888" font-size="10">{escape(name)}</text>')
    for i, curve in enumerate(curves):
        parts += frame.draw(curve, COLOURS[i % len(COLOURS)])
        x = LEFT + i * (WIDTH - LEFT) / len(curves)
        parts.append(f'<text x="{x:.0f}" y="14" fill="{COLOURS[i % len(COLOURS)]}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers (1, 2 or 5 times a power of ten apart) from ``low`` to ``high``."""
    rough = (high - low) / 6.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


class _Frame:
    """The mapping from values to the picture."""

    def __init__(self, x0: float, x1: float, y0: float, y1: float) -> None:
        margin = 0.05 * (y1 - y0) or 1.0
        self._x0, self._x1 = x0, x1 if x1 > x0 else x0 + 1.0
        self._y0, self._y1 = y0 - margin, y1 + margin

    def x(self, value: float) -> float:
        """Picture coordinate."""
        return LEFT + (value - self._x0) / (self._x1 - self._x0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Picture coordinate."""
        return HEIGHT - BOTTOM - (value - self._y0) / (self._y1 - self._y0) * (HEIGHT - TOP - BOTTOM)

    def axes(self, x_label: str, y_label: str) -> list[str]:
        """Frame, a handful of round ticks each, labels."""
        parts = [f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#444"/>']
        parts += [
            f'<text x="{self.x(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>'
            for x in ticks(self._x0, self._x1)
        ]
        parts += [
            f'<text x="{LEFT - 6}" y="{self.y(y) + 4:.1f}" text-anchor="end">{y:g}</text>'
            for y in ticks(self._y0, self._y1)
        ]
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
        parts.append(
            f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
        )
        return parts

    def draw(self, curve: Curve, colour: str) -> list[str]:
        """The line, and its band."""
        points = [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True)]
        parts = [f'<path d="M{"L".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>']
        if curve.low and curve.high:
            up = [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in zip(curve.x, curve.high, strict=True)]
            down = [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in zip(curve.x, curve.low, strict=True)]
            parts.append(f'<path d="M{"L".join([*up, *reversed(down)])}Z" fill="{colour}" opacity="0.15"/>')
        return parts
