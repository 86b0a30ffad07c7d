"""Openings: the stretches of a game in which one player hits, grabs or juggles the other.

An opening begins when the opponent is hurt, tumbling or grabbed. It ends when the opponent loses a stock, or when more
than 45 frames have passed since it first could act on the ground again without being hurt or grabbed in that time.
The definition is that of conversions in project-slippi/slippi-js, so that figures can be compared with its pages.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee import actions as a
from envs.melee.drawing.events import PERCENT_UNIT

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


def kill_percents(found: NDArray[np.void], percent: NDArray[np.float64]) -> NDArray[np.float64]:
    """The opponent's percent, whose track is ``percent``, when it lost a stock in an opening; [K] openings that killed.

    The stock and the percent of a new life are seen on the frame after the last one of the old.
    """
    killed: NDArray[np.float64] = percent[np.maximum(found["end"][found["killed"]] - 1, 0)]
    return killed


def fight_figures(players: NDArray[np.void]) -> tuple[dict[str, Any], ...]:
    """Figures of both seats of a fight, from PLAYER [T, 2], as ``openings.js`` of the play page gives them.

    Returns:
        By seat ``openings``, their ``hits``, ``damage_per_opening`` (None without one), ``kill_percents``, and
        ``damage``, the percent that the opponent took in the whole fight.
    """
    result = []
    for seat in (0, 1):
        me, other = players[:, seat], players[:, 1 - seat]
        found = openings(me["action"], me["action_frame"], other["action"], other["percent"], other["stocks"])
        same_life = np.diff(other["stocks"]) >= 0
        result.append(
            {
                "openings": len(found),
                "hits": int(found["hits"].sum()),
                "damage_per_opening": float(found["damage"].mean()) if len(found) else None,
                "kill_percents": kill_percents(found, other["percent"]).tolist(),
                "damage": float(np.maximum(np.diff(other["percent"]), 0.0)[same_life].sum()),
            }
        )
    return tuple(result)


def opening_facts() -> dict[str, Any]:
    """What ``openings.js`` has to know, for JSON."""
    return {
        "reset": RESET,
        "hurt": _HURT,
        "grabbed": _GRABBED,
        "in_control": _IN_CONTROL,
        "percent": PERCENT_UNIT,
    }


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
