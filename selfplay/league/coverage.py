"""Which policies of a long history to let go, so that every strength it had still has somebody near it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def thin(names: Sequence[str], strengths: Mapping[str, float], limit: int, keep: Collection[str] = ()) -> list[str]:
    """Who leaves, one after the other, until ``limit`` are left.

    Each time the one goes whose neighbours in strength are closest to each other, as long as the gap that it leaves;
    among equals the one whose neighbours in age are. The first and the last by age, and the weakest and the strongest,
    stay.

    Args:
        names: from old to new; the number at the end of a name is its age in iterations.
        strengths: on any scale; who has none is taken to lie between its neighbours in age. Where nobody has one, age
            stands for it.
        limit: how many may stay. More do where all others must be kept.
        keep: who stays in any case.
    """
    left, gone = list(names), list[str]()
    ages = {name: _age(name, i) for i, name in enumerate(names)}
    placed = _placed(names, ages, strengths)
    while len(left) > max(limit, 2):
        order = sorted(range(len(left)), key=lambda i: (placed[left[i]], i))
        costs = {}
        for before, i, after in zip(order, order[1:], order[2:], strict=False):
            if 0 < i < len(left) - 1 and left[i] not in keep:
                gap = placed[left[after]] - placed[left[before]]
                costs[left[i]] = (round(gap, 9), ages[left[i + 1]] - ages[left[i - 1]])
        if not costs:
            break
        leaver = min(costs, key=lambda name: costs[name])
        left.remove(leaver)
        gone.append(leaver)
    return gone


def _age(name: str, place: int) -> float:
    """When somebody was frozen: the iteration at the end of the name, or else the place in the history."""
    found = re.search(r"_([0-9]+)$", name)
    return float(found[1]) if found else float(place)


def _placed(names: Sequence[str], ages: Mapping[str, float], strengths: Mapping[str, float]) -> dict[str, float]:
    """Strengths, with the unknown ones between their neighbours in age; ages where none is known."""
    known = [name for name in names if name in strengths]
    if not known:
        return dict(ages)
    filled = np.interp(
        [ages[name] for name in names], [ages[name] for name in known], [strengths[name] for name in known]
    )
    return {name: float(strength) for name, strength in zip(names, filled, strict=True)}
