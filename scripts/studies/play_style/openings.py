"""Openings: the stretches of a game in which one player hits, grabs or juggles the other.

An opening begins when the opponent is hurt, tumbling or grabbed. It ends when the opponent loses a stock, or when more
than 45 frames have passed since it first could act on the ground again without being hurt or grabbed in that time.
The definition is that of conversions in project-slippi/slippi-js, so that figures can be compared with its pages.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from envs.melee import actions as a

RESET: Final = 45  # frames in control after which an opening is over
OPENING: Final = np.dtype(
    [
        ("start", "i4"),  # row of its first frame
        ("end", "i4"),  # row of its last frame; of an opening that the game cut off, the last of all
        ("hits", "i4"),  # moves that dealt damage; each hit of one use of a move is the same
        ("damage", "f8"),  # percent that the opponent took
        ("killed", "?"),
    ]
)
_Spans = tuple[tuple[int, int], ...]
_HURT: Final[_Spans] = (
    (a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL),
    (a.DAMAGE_FALL, a.DAMAGE_FALL),
    (a.DOWN_DAMAGE_UP, a.DOWN_DAMAGE_UP),
    (a.DOWN_DAMAGE, a.DOWN_DAMAGE),
)
_GRABBED: Final[_Spans] = ((a.CAPTURE_PULLED_HIGH, 232), (266, 292), (294, 304), (327, 338))  # the latter: by specials
_IN_CONTROL: Final[_Spans] = (
    (a.WAIT, a.JUMP_SQUAT),
    (a.SQUAT, a.SQUAT_RISE),
    (a.JAB_2, a.DSMASH),
    (a.CATCH, a.CATCH),
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
    punished, free = among(victim, _HURT) | among(victim, _GRABBED), among(victim, _IN_CONTROL)
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


def among(action: NDArray[np.int32], spans: _Spans) -> NDArray[np.bool_]:
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
