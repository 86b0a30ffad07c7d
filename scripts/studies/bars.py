"""Bars with intervals as a small SVG, beside ``curves``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

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
