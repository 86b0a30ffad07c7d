"""Which generations are no longer rated: a run of days has them without end, and a rating looks at all pairs.

The covariance of n ratings has n^2 numbers, and takes n^3 steps to find. So the ladder has an end: the generations that
played last are on it. Who is in a run's pool goes on playing; who has left it does not, and is the first to go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.records import START, generation_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selfplay.league.games import Bools, Ints

LADDER: Final = 400
"""Generations that are rated together at most, beside those that are asked for."""


def retired(players: Sequence[str], seats: Ints, keep: Iterable[str]) -> Bools:
    """[players] generations that ``LADDER`` others have played after.

    Args:
        players: all names.
        seats: [N, 2] who played, in the order of the games.
        keep: who is rated in any case; the start is, too.
    """
    gone = np.zeros(len(players), dtype=bool)
    if len(players) <= LADDER:
        return gone
    last = np.full(len(players), -1, dtype=np.int64)
    last[seats.ravel()] = np.repeat(np.arange(len(seats)), 2)  # of a player's places the last one stays
    ages = [generation_number(name) is not None for name in players]
    playing = np.flatnonzero(np.array(ages, dtype=bool) & (last >= 0))
    gone[playing[np.argsort(-last[playing], kind="stable")[LADDER:]]] = True
    return gone & ~np.isin(np.array(players), [START, *keep])
