"""Charts of the documents as SVG, for light and dark pages: curves with bands, and bars with intervals.

The background is transparent. Every colour of a curve or bar has a contrast of at least 3 on white and on #0d1117. No
colour of text has 4.5 on both, so text and axes change with the colour scheme of the reader.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = (
    "#2f81d0", "#d9730d", "#2e9e4f", "#9a6ad6", "#e5484d", "#0f97a3", "#d6539b", "#968a1b",
)  # fmt: skip
OTHERS: Final = "#818181"  # bars that do not stand out
INK, DARK_INK = "#656d76", "#8b949e"  # text and axes on light and on dark pages
WIDTH: Final = 8.0  # inches of 72 points
NAME_POINTS: Final = 9  # size of the names of levels
ABOVE: Final = 4  # names for which there is room above a plot; more stand on its right
SETTINGS: Final = {
    "svg.fonttype": "none", "svg.hashsalt": "selfplay", "font.family": "DejaVu Sans", "font.size": 10,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "figure.facecolor": "none", "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.formatter.useoffset": False, "legend.frameon": False, "lines.linewidth": 1.6, "text.parse_math": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: points (x, y), and the ends of an interval around each y where there is one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves on common axes; ``levels`` are named horizontal lines."""

    curves: Sequence[Curve]
    x_label: str
    y_label: str
    levels: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, the ends of an interval around its value, and whether it stands out."""

    name: str
    value: float
    low: float
    high: float
    ours: bool = False


def lines(plot: Plot) -> str:
    """A chart of curves.

    Raises:
        ValueError: no curve has a point.
    """
    if not any(len(curve.x) for curve in plot.curves):
        raise ValueError("a plot needs at least one point")
    return _svg(lambda figure: _draw_lines(figure.subplots(), plot), 4.0)


def bars(groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Groups of horizontal bars, each above its label and with a scale of its own.

    Raises:
        ValueError: a group has no bar.
    """
    if not all(group for _, group in groups):
        raise ValueError("a group needs at least one bar")

    def draw(figure: Figure) -> None:
        sizes = [len(group) for _, group in groups]
        axes = figure.subplots(len(groups), height_ratios=sizes, squeeze=False)[:, 0]
        for at, (label, group) in zip(axes, groups, strict=True):
            _draw_bars(at, label, group)

    return _svg(draw, sum(0.24 * len(group) + 0.7 for _, group in groups))


def _name_levels(axes: Axes, levels: Sequence[tuple[str, float]]) -> None:
    """Write the names of levels beside the axes, each above the one below it where levels are close."""
    low, high = axes.get_ylim()
    line = NAME_POINTS * 1.2 * axes.figure.dpi / 72 / axes.bbox.height  # in shares of the axes
    above = -line
    for name, level in sorted(levels, key=lambda each: each[1]):
        above = max((level - low) / (high - low), above + line)
        axes.annotate(name, (1, above), (4, 0), "axes fraction", "offset points", va="center", fontsize=NAME_POINTS)


def _draw_lines(axes: Axes, plot: Plot) -> None:
    for _, level in plot.levels:
        axes.axhline(level, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for number, curve in enumerate(plot.curves):
        colour, dashed = COLOURS[number % len(COLOURS)], number >= len(COLOURS)
        axes.plot(curve.x, curve.y, color=colour, linestyle="--" if dashed else "-", label=curve.name)
        if curve.low and curve.high:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
    axes.set(xlabel=plot.x_label, ylabel=plot.y_label)
    _name_levels(axes, plot.levels)
    if len(plot.curves) > ABOVE:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    else:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=ABOVE, borderaxespad=0.2, fontsize=9)


def _draw_bars(axes: Axes, label: str, group: Sequence[Bar]) -> None:
    for at, bar in enumerate(group):
        axes.barh(at, bar.value, 0.7, color=COLOURS[0] if bar.ours else OTHERS)
        axes.plot([bar.low, bar.high], [at, at], color=INK, linewidth=1.2)
        axes.annotate(f"{bar.value:,.0f}", (bar.high, at), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(group)), [bar.name for bar in group])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=label, xlim=(0, 1.12 * max(bar.high for bar in group)), ylim=(len(group) - 0.4, -0.6))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _svg(draw: Callable[[Figure], None], height: float) -> str:
    """The SVG of a figure; equal figures have equal bytes."""
    # Here, since it is of the extra `dev`, and studies that draw nothing do without.
    from matplotlib import style
    from matplotlib.figure import Figure

    file = io.StringIO()
    with style.context(["default", SETTINGS]):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = re.sub(r"^ +| +$| transform=\"rotate\(-0 [^\"]*\"", "", file.getvalue(), flags=re.MULTILINE)
    text = re.sub(r"(?<=\.\d\d)\d+(?=[^<>]*>)", "", text)  # decimals of coordinates, which are inside tags
    text = text[text.index("<svg") :].replace("'DejaVu Sans'", "sans-serif").replace(INK, "currentColor")
    scheme = f"svg{{color: {INK}}} @media (prefers-color-scheme: dark) {{svg{{color: {DARK_INK}}}}}"
    return text.replace("</style>", f" {scheme}</style>", 1)
