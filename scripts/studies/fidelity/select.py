"""Which frames and windows of a replay the score takes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.windows import LENGTH
from selfplay_melee import actions as a

LEAST_MOVE: Final = 0.5  # units that a movement window moves at least

# Actions of a movement window: on foot or in the air, attacks, shields and dodges, but nothing done by the other.
_MOVING: Final = ((a.WAIT, a.FALL_SPECIAL_B), (a.SQUAT, a.LANDING_DAIR), (a.GUARD_ON, a.GUARD_OFF),
                  (a.ROLL_F, a.AIR_DODGE), (a.PLATFORM_DROP, a.TEETER_WAIT))  # fmt: skip


def is_moving(action: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether a movement window may have this action."""
    moving = np.zeros(action.shape, bool)
    for first, last in _MOVING:
        moving |= (action >= first) & (action <= last)
    return moving


def any_in(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[W, ...] of every window, whether a flag, [T, ...], holds on one of its frames, the first real one included."""
    count = max(0, len(flags) - LENGTH)
    total = np.concatenate([np.zeros((1, *flags.shape[1:]), np.int32), np.cumsum(flags, axis=0, dtype=np.int32)])
    some: NDArray[np.bool_] = total[LENGTH + 1 : LENGTH + 1 + count] > total[:count]
    return some


def all_in(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[W, ...] of every window, whether a flag holds on all of its frames, the first real one included."""
    return ~any_in(~flags)


def farthest(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """[W] largest distance of a window from its start."""
    count = max(0, len(x) - LENGTH)
    result = np.zeros(count)
    for i in range(1, LENGTH + 1):
        np.maximum(result, np.hypot(x[i : i + count] - x[:count], y[i : i + count] - y[:count]), out=result)
    return result
