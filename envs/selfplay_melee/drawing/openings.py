"""Openings: the stretches of a game in which one player hits, grabs or juggles the other.

An opening begins when the opponent is hurt, tumbling or grabbed. It ends when the opponent loses a stock, or when more
than 45 frames have passed since it first could act on the ground again without being hurt or grabbed in that time.
The definition is that of conversions in project-slippi/slippi-js, so that figures can be compared with its pages.
``openings.js`` of the play page counts them.
"""

from __future__ import annotations

from typing import Any, Final

from selfplay_melee import actions as a
from selfplay_melee.drawing.events import PERCENT_UNIT

RESET: Final = 45  # frames in control after which an opening is over
Spans = tuple[tuple[int, int], ...]
HURT: Final[Spans] = (
    (a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL),
    (a.DAMAGE_FALL, a.DAMAGE_FALL),
    (a.DOWN_DAMAGE_UP, a.DOWN_DAMAGE_UP),
    (a.DOWN_DAMAGE, a.DOWN_DAMAGE),
)
GRABBED: Final[Spans] = ((a.CAPTURE_PULLED_HIGH, 232), (266, 292), (294, 304), (327, 338))  # the latter: by specials
IN_CONTROL: Final[Spans] = (
    (a.WAIT, a.JUMP_SQUAT),
    (a.SQUAT, a.SQUAT_RISE),
    (a.JAB_2, a.DSMASH),
    (a.CATCH, a.CATCH),
)


def opening_facts() -> dict[str, Any]:
    """What ``openings.js`` has to know, for JSON."""
    return {
        "reset": RESET,
        "hurt": HURT,
        "grabbed": GRABBED,
        "in_control": IN_CONTROL,
        "percent": PERCENT_UNIT,
    }
