"""Openings in the frames of a game; what they are says ``selfplay_melee.drawing.openings``."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.drawing.openings import GRABBED, HURT, IN_CONTROL, RESET, Spans

OPENING: Final = np.dtype(
    [
        ("start", "i4"),  # row of its first frame
        ("end", "i4"),  # row of its last frame; of an opening that the game cut off, the last of all
        ("hits", "i4"),  # moves that dealt damage; each hit of one use of a move is the same
        ("damage", "f8"),  # percent that the opponent took
        ("killed", "?"),
    ]
)


def openings(
    action: NDArray[np.int32],
    frame: NDArray[np.float64],
    victim: NDArray[np.int32],
    percent: NDArray[np.float64],
    stocks: NDArray[np.int32],
) -> NDArray[np.void]:
    """OPENING [K] of one player.

    Args:
        action: The player's, [T].
        frame: Of that action, [T].
        victim: The opponent's action, [T].
        percent: The opponent's.
        stocks: The opponent's.
    """
    punished, free = among(victim, HURT) | among(victim, GRABBED), among(victim, IN_CONTROL)
    restarts = np.flatnonzero(changes(action, frame))
    taken = np.diff(percent, prepend=percent[:1])
    lost = np.diff(stocks, prepend=stocks[:1]) < 0
    found: list[tuple[int, int, int, float, bool]] = []
    t = 0
    while (starts := np.flatnonzero(punished[t:])).size:
        start = t + int(starts[0])
        end = _end(punished, free, lost, start)
        rows = np.arange(start, end + 1)
        struck = rows[(taken[rows] > 0.0) & punished[rows]]
        uses = np.searchsorted(restarts, struck - 1, "right")  # the frame before a hit shows the move that dealt it
        damage = float(taken[rows][(taken[rows] > 0.0) & ~lost[rows]].sum())
        found.append((start, end, len(np.unique(uses)), damage, bool(lost[end])))
        t = end + 1
    return np.array(found, OPENING)


def kill_percents(found: NDArray[np.void], percent: NDArray[np.float64]) -> NDArray[np.float64]:
    """The opponent's percent, whose track is ``percent``, when it lost a stock in an opening; [K] openings that killed.

    The stock and the percent of a new life are seen on the frame after the last one of the old.
    """
    killed: NDArray[np.float64] = percent[np.maximum(found["end"][found["killed"]] - 1, 0)]
    return killed


def _end(punished: NDArray[np.bool_], free: NDArray[np.bool_], lost: NDArray[np.bool_], start: int) -> int:
    """Row on which the opening that began at ``start`` ends."""
    counter = 0
    for t in range(start, len(punished)):
        if punished[t]:
            counter = 0
        elif counter or free[t]:
            counter += 1
        if lost[t] or counter > RESET:
            return t
    return len(punished) - 1


def among(action: NDArray[np.int32], spans: Spans) -> NDArray[np.bool_]:
    """Whether an action lies in one of the spans (first, last)."""
    inside = np.zeros(action.shape, bool)
    for first, last in spans:
        inside |= (action >= first) & (action <= last)
    return inside


def changes(action: NDArray[np.int32], frame: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[T] rows on which an action begins, also the same one again; not the first row."""
    begins = np.zeros(action.shape, bool)
    begins[1:] = (action[1:] != action[:-1]) | (frame[1:] < frame[:-1])
    return begins
