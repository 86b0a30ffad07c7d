"""Which generations of a long run are dropped: from the set of opponents, and from the ratings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.records import START, generation_number

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Ints

LADDER: Final = 400
"""Maximum number of generations rated together. The covariance of n ratings takes O(n^2) memory and O(n^3) time."""


def prune(names: Sequence[str], strengths: Mapping[str, float], limit: int, keep: Collection[str] = ()) -> list[str]:
    """Policies to drop, in order, until ``limit`` are left, so that the rest still covers all strengths.

    Each step drops the policy whose removal leaves the smallest gap in strength; ties go to the smallest gap in age.
    The oldest, the newest, the weakest and the strongest policy stay.

    Args:
        names: from old to new; a number at the end of a name is its age in iterations.
        strengths: on any scale. Missing ones are interpolated by age; if all are missing, the age is used instead.
        limit: how many may stay. More do if they are all in ``keep``.
        keep: policies that are never dropped.
    """
    left, dropped = list(names), list[str]()
    ages = {name: _age(name, i) for i, name in enumerate(names)}
    filled = _interpolated(names, ages, strengths)
    while len(left) > max(limit, 2):
        order = sorted(range(len(left)), key=lambda i: (filled[left[i]], i))
        costs = {}
        for before, i, after in zip(order, order[1:], order[2:], strict=False):
            if 0 < i < len(left) - 1 and left[i] not in keep:
                gap = filled[left[after]] - filled[left[before]]
                costs[left[i]] = (round(gap, 9), ages[left[i + 1]] - ages[left[i - 1]])
        if not costs:
            break
        cheapest = min(costs, key=lambda name: costs[name])
        left.remove(cheapest)
        dropped.append(cheapest)
    return dropped


def _age(name: str, place: int) -> float:
    """The iteration at the end of the name, or else the position in the history."""
    found = re.search(r"_([0-9]+)$", name)
    return float(found[1]) if found else float(place)


def _interpolated(names: Sequence[str], ages: Mapping[str, float], strengths: Mapping[str, float]) -> dict[str, float]:
    """Strengths with the missing ones interpolated by age; the ages if no strength is known."""
    known = [name for name in names if name in strengths]
    if not known:
        return dict(ages)
    filled = np.interp(
        [ages[name] for name in names], [ages[name] for name in known], [strengths[name] for name in known]
    )
    return {name: float(strength) for name, strength in zip(names, filled, strict=True)}


def inactive(players: Sequence[str], seats: Ints, keep: Iterable[str]) -> Bools:
    """[players] generations that are no longer rated: ``LADDER`` others have played more recently.

    ``seats`` [N, 2] are the players of each game, in order. Those in ``keep``, and the start, are always rated.
    """
    dropped = np.zeros(len(players), dtype=bool)
    if len(players) <= LADDER:
        return dropped
    last = np.full(len(players), -1, dtype=np.int64)
    last[seats.ravel()] = np.repeat(np.arange(len(seats)), 2)  # the last assignment wins
    is_generation = [generation_number(name) is not None for name in players]
    playing = np.flatnonzero(np.array(is_generation, dtype=bool) & (last >= 0))
    dropped[playing[np.argsort(-last[playing], kind="stable")[LADDER:]]] = True
    return dropped & ~np.isin(np.array(players), [START, *keep])
