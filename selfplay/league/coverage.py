"""Which policies of a long history to let go, so that every strength it had still has somebody near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from selfplay.league.games import Floats


def thin(names: Sequence[str], strengths: Mapping[str, float], limit: int, keep: Collection[str] = ()) -> list[str]:
    """Who leaves, one after the other, until ``limit`` are left.

    Each time the one goes whose neighbours in strength are closest to each other, as long as the gap that it leaves;
    among equals the one whose neighbours in age are. The first and the last by age, and the weakest and the strongest,
    stay.

    Args:
        names: from old to new.
        strengths: on any scale; who has none is taken to lie between its neighbours in age. Where nobody has one, age
            stands for it.
        limit: how many may stay. More do where all others must be kept.
        keep: who stays in any case.
    """
    left, gone = list(names), list[str]()
    placed = dict(zip(left, _filled([strengths.get(name) for name in left]), strict=True))
    while len(left) > max(limit, 2):
        order = sorted(range(len(left)), key=lambda i: (placed[left[i]], i))
        costs = {}
        for place in range(1, len(order) - 1):
            i = order[place]
            if 0 < i < len(left) - 1 and left[i] not in keep:
                gap = placed[left[order[place + 1]]] - placed[left[order[place - 1]]]
                ages = names.index(left[i + 1]) - names.index(left[i - 1])
                costs[left[i]] = (round(gap, 9), ages)
        if not costs:
            break
        leaver = min(costs, key=lambda name: costs[name])
        left.remove(leaver)
        gone.append(leaver)
    return gone


def _filled(strengths: Sequence[float | None]) -> Floats:
    """Strengths by age, with the unknown ones between their neighbours."""
    known = [i for i, strength in enumerate(strengths) if strength is not None]
    if not known:
        return np.arange(len(strengths), dtype=np.float64)
    values = [float(strength) for strength in strengths if strength is not None]
    return np.interp(np.arange(len(strengths)), known, values)
