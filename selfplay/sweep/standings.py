"""Which setting is best, with intervals over seeds, and which others cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from selfplay.league.statistics import student95
from selfplay.sweep.plan import label

if TYPE_CHECKING:
    from selfplay.sweep.judging import Measure
    from selfplay.sweep.space import Values


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% interval by Student's t; without ends if one value tells no spread."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A setting in the table, the best first."""

    name: str  # s0, s1, ...
    values: Values
    share: float  # of the full length that it was trained for
    strengths: tuple[float, ...]  # by seed
    failed: int  # cells that failed: it is not ranked
    over_seeds: Interval | None  # None: no cell was judged
    behind: Interval | None = None  # the best; None: it is the best, or did not come as far

    @property
    def told_apart(self) -> bool:
        """Whether the interval of the difference to the best excludes 0."""
        return self.behind is not None and self.behind.low is not None and self.behind.low > 0.0


def interval(values: Sequence[float]) -> Interval:
    """Of the mean of independent values."""
    found = np.asarray(values, dtype=np.float64)
    mean, count = float(found.mean()), len(found)
    if count < 2:
        return Interval(mean)
    error = student95(count - 1) * math.sqrt(float(found.var(ddof=1)) / count)
    return Interval(mean, mean - error, mean + error)


def difference(ones: Sequence[float], others: Sequence[float]) -> Interval:
    """Mean of the first minus that of the others, by Welch's method: their spreads may differ."""
    gap = float(np.mean(ones) - np.mean(others))
    if min(len(ones), len(others)) < 2:
        return Interval(gap)
    parts = [float(np.var(each, ddof=1)) / len(each) for each in (ones, others)]
    variance = sum(parts)
    if variance == 0.0:
        return Interval(gap, gap, gap)
    df = variance**2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (ones, others), strict=True))
    error = student95(df) * math.sqrt(variance)
    return Interval(gap, gap - error, gap + error)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a setting: the strength by seed, None where a cell failed."""

    number: int
    values: Values
    share: float
    strengths: tuple[float | None, ...]


def standings(entries: Sequence[Entry]) -> list[Standing]:
    """The table: first what was trained longest, and of equal length what is strongest; failed settings last."""
    found = [_standing(entry) for entry in entries]
    found.sort(key=lambda each: (each.failed > 0, -each.share, -each.over_seeds.mean if each.over_seeds else math.inf))
    if not found or found[0].failed:
        return found
    best = found[0]
    return [best, *(_compared(best, each) for each in found[1:])]


def _standing(entry: Entry) -> Standing:
    known = tuple(strength for strength in entry.strengths if strength is not None)
    failed = len(entry.strengths) - len(known)
    over_seeds = interval(known) if known else None
    return Standing(f"s{entry.number}", entry.values, entry.share, known, failed, over_seeds)


def _compared(best: Standing, other: Standing) -> Standing:
    if other.failed or other.share != best.share:
        return other
    return replace(other, behind=difference(best.strengths, other.strengths))


def verdict(found: Sequence[Standing], measure: Measure) -> str:
    """The best in words, and whether it can be told from the second."""
    if not found or found[0].failed or found[0].over_seeds is None:
        return "No setting has a result for all seeds."
    best, *others = found
    seeds = f"{len(best.strengths)} seeds" if len(best.strengths) > 1 else "one seed"
    figure = f"{measure.name} {with_ends(found[0].over_seeds, measure)}"
    lines = [f"Best: {best.name} ({label(best.values)}), {figure} over {seeds}."]
    lines += _rivals([(each, each.behind) for each in others if each.behind is not None], measure)
    if others:
        lines.append(f"Chosen as the best of {len(found)}, it looks somewhat better than it is.")
    return " ".join(lines)


def _rivals(rivals: Sequence[tuple[Standing, Interval]], measure: Measure) -> Iterator[str]:
    """Sentences about the settings that were trained as long as the best, with how far they are behind."""
    if not rivals:
        return
    second, gap = rivals[0]
    words = f"The second, {second.name} ({label(second.values)}), is {_gap(gap, measure)} behind"
    if gap.low is None:
        yield f"{words}: with one seed a difference cannot be told from chance."
        return
    yield f"{words}: {'distinguishable' if second.told_apart else 'not distinguishable'}."
    if alike := [each.name for each, _ in rivals[1:] if not each.told_apart]:
        yield f"Not distinguishable from the best either: {', '.join(alike)}."


def with_ends(found: Interval, measure: Measure) -> str:
    """A strength and its interval, as people read the figure."""
    ends = ends_text(found, measure.form, measure.sign)
    return measure.figure(found.mean) + (f" (95% interval {ends})" if ends else "")


def ends_text(found: Interval, form: str, sign: float = 1.0) -> str:
    """The ends of an interval; empty without."""
    if found.low is None or found.high is None:
        return ""
    low, high = sorted((sign * found.low, sign * found.high))
    return f"{low:{form}} to {high:{form}}"


def _gap(found: Interval, measure: Measure) -> str:
    form = measure.form.removeprefix("+")
    text = f"{found.mean:{form}} {measure.unit}".strip()
    ends = ends_text(found, form)
    return text + (f" (95% interval {ends})" if ends else "")
