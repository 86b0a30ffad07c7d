"""Bars with intervals as a small SVG, beside ``curves``, and confidence intervals of the mean of a few values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Final
from xml.sax.saxutils import escape

from selfplay.league.statistics import Z95

T95: Final = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Two-sided 95% quantile of Student's t by number of values; above 10 values the normal distribution is used."""
WIDTH: Final = 720
LEFT, RIGHT, TOP, STEP, GAP = 230, 90, 10, 20, 34


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, the ends of an interval around its value, and whether it stands out."""

    name: str
    value: float
    low: float
    high: float
    ours: bool = False


def svg(groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Groups of horizontal bars, each under its name and with a scale of its own.

    Raises:
        ValueError: a group has no bar.
    """
    parts, y = [], TOP
    for name, bars in groups:
        longest = max(bar.high for bar in bars) or 1.0
        parts.append(f'<text x="{LEFT}" y="{y + 14}" font-weight="bold">{escape(name)}</text>')
        y += STEP
        for bar in bars:
            parts += _bar(bar, y, (WIDTH - LEFT - RIGHT) / longest)
            y += STEP
        y += GAP - STEP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{y}" fill="white"/>', *parts, "</svg>"]) + "\n"


def _bar(bar: Bar, y: float, scale: float) -> list[str]:
    colour, middle = "#1f77b4" if bar.ours else "#999", y + STEP / 2
    low, high = LEFT + bar.low * scale, LEFT + bar.high * scale
    return [
        f'<text x="{LEFT - 8}" y="{middle + 4:.0f}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{LEFT}" y="{y + 3:.0f}" width="{bar.value * scale:.1f}" height="{STEP - 6}" fill="{colour}"/>',
        f'<path d="M{low:.1f} {middle:.0f}H{high:.1f}" stroke="#222"/>',
        f'<text x="{high + 6:.1f}" y="{middle + 4:.0f}">{bar.value:,.0f}</text>',
    ]


def t95(count: int) -> float:
    """Quantile for a two-sided 95% interval of the mean of ``count`` values."""
    return T95.get(count, Z95)


def half95(values: Sequence[float]) -> float:
    """Half the width of the 95% interval of the mean; at least two values."""
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))
