"""The pose of a figure on each frame of an action.

A pose is ten angles in degrees, ``ANGLES``: limbs from straight down, positive towards where the figure faces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

ANGLES: Final = (
    "lean",  # of the torso, forwards
    "front_upper_arm", "front_forearm", "back_upper_arm", "back_forearm",
    "front_thigh", "front_shin", "back_thigh", "back_shin",
    "turn",  # of the whole body, backwards
)  # fmt: skip
Pose = NDArray[np.float64]  # [10]
_Limb = tuple[float, float]
_FRONT_ARM, _BACK_ARM, _FRONT_LEG, _BACK_LEG = slice(1, 3), slice(3, 5), slice(5, 7), slice(7, 9)


@dataclass(frozen=True, slots=True)
class Timing:
    """Frames of an attack: from the first hit to the last, and the last of all."""

    first: float = 6
    last: float = 10
    end: float = 30


def _pose(
    lean: float,
    front_arm: _Limb,
    back_arm: _Limb,
    front_leg: _Limb = (18, -6),
    back_leg: _Limb = (-14, -26),
    turn: float = 0.0,
) -> Pose:
    return np.array([lean, *front_arm, *back_arm, *front_leg, *back_leg, turn], np.float64)


_STAND: Final = _pose(8, (25, 80), (-5, 55))
_CROUCH: Final = _pose(35, (40, 90), (10, 70), (75, -35), (40, -60))
_AIR: Final = _pose(5, (110, 130), (-70, -100), (45, -25), (-5, -50))
_HURT: Final = _pose(-28, (-30, -50), (-60, -80), (35, 15), (10, -10))
_DODGE: Final = _pose(-10, (30, 120), (10, 100), (50, -40), (20, -60))
POSES: Final[dict[str, Pose]] = {
    "wait": _STAND,
    "walk": _pose(12, (15, 50), (-15, 25)),
    "dash": _pose(38, (10, 70), (-50, -10)),
    "run": _pose(30, (20, 90), (-40, 20)),
    "turn": _pose(-12, (30, 60), (-20, 10)),
    "jump_squat": _CROUCH,
    "landing": _CROUCH,
    "landing_lag": _CROUCH,
    "crouch": _CROUCH,
    "jump": _pose(10, (150, 165), (-20, -10), (60, -20), (-10, -55)),
    "double_jump": _pose(20, (60, 120), (40, 100), (95, -40), (70, -60)),
    "fall": _AIR,
    "fall_special": _pose(-5, (140, 160), (-140, -160), (20, -10), (-20, -40)),
    "jab": _pose(18, (88, 92), (-20, 60)),
    "dash_attack": _pose(50, (80, 95), (-60, -30), (50, 0), (-40, -70)),
    "ftilt": _pose(-15, (10, 60), (-30, 0), (88, 92), (-8, -15)),
    "utilt": _pose(-8, (170, 175), (-20, 20)),
    "dtilt": _pose(40, (60, 80), (20, 60), (85, 88), (40, -60)),
    "fsmash": _pose(35, (92, 92), (80, 100), (40, 5), (-30, -45)),
    "usmash": _pose(-5, (175, 180), (160, 178), (22, -8), (-20, -26)),
    "dsmash": _pose(20, (75, 75), (-75, -75), (82, 70), (-82, -70)),
    "nair": _pose(0, (95, 95), (-95, -95), (75, 60), (-60, -80)),
    "fair": _pose(30, (100, 92), (85, 90), (40, -10), (-10, -50)),
    "bair": _pose(30, (40, 80), (10, 60), (30, -20), (-92, -92)),
    "uair": _pose(-25, (60, 90), (-40, -20), (150, 165), (20, -20)),
    "dair": _pose(15, (140, 150), (-130, -150), (8, 0), (-8, 0)),
    "special": _pose(10, (92, 90), (86, 92), (30, -5), (-25, -40)),
    "shield": _pose(15, (60, 140), (45, 130), (35, -20), (-10, -40)),
    "shield_stun": _pose(-5, (60, 140), (45, 130), (35, -10), (-20, -45)),
    "shield_break": _pose(30, (15, 20), (-5, 5)),
    "spot_dodge": _DODGE,
    "roll": _pose(40, (60, 140), (50, 130), (100, -60), (80, -80)),
    "air_dodge": _DODGE,
    "grab": _pose(28, (85, 95), (80, 92), (35, 0), (-30, -45)),
    "holding": _pose(15, (85, 100), (80, 95)),
    "throw": _pose(-15, (130, 140), (120, 135), (30, 0), (-25, -35)),
    "grabbed": _pose(-12, (-10, 20), (-25, 0), (15, -15), (-5, -35)),
    "hitstun": _HURT,
    "tumble": _pose(-20, (110, 130), (-110, -130), (60, 20), (-20, -60)),
    "down": _pose(0, (120, 140), (-20, -20), (10, 0), (-10, -10), turn=85),
    "getup": _CROUCH,
    "tech": _CROUCH,
    "ledge_hang": _pose(0, (172, 178), (165, 176), (15, -10), (-10, -25)),
    "ledge_action": _pose(25, (120, 100), (90, 60), (80, -30), (10, -40)),
    "respawn": _STAND,
    "taunt": _pose(-10, (150, 170), (-30, 60)),
}
ATTACKS: Final = frozenset(
    {
        "jab", "dash_attack", "ftilt", "utilt", "dtilt", "fsmash", "usmash", "dsmash",
        "nair", "fair", "bair", "uair", "dair", "grab", "throw", "special",
    }
)  # fmt: skip
_AERIALS: Final = frozenset({"nair", "fair", "bair", "uair", "dair"})
_STRIDE: Final = {"walk": (28.0, 0.20), "dash": (55.0, 0.42), "run": (50.0, 0.38)}  # degrees, radians a frame
_SPIN: Final = {"double_jump": -18.0, "tumble": 14.0, "roll": -16.0}  # degrees a frame
_RISES: Final = {"landing": 8.0, "landing_lag": 14.0, "getup": 24.0, "tech": 24.0}  # frames from crouching to standing
_SWAY: Final = 0.1  # radians a frame
_SNAP: Final = 0.65  # share of the wind-up after which the limb is on its way out
_BACK: Final = 0.35  # how far a wind-up goes back


def pose_at(category: str, frame: float, timing: Timing | None = None) -> Pose:
    """The pose on a frame of an action.

    Args:
        category: Group of the action, of ``selfplay_melee.actions.CATEGORIES``.
        frame: Of the action.
        timing: Of an attack; None: a guess.
    """
    pose = POSES.get(category, _STAND)
    if category in ATTACKS:
        rest = _AIR if category in _AERIALS else _STAND
        return rest + _reach(frame, timing or Timing()) * (pose - rest)
    if category in _STRIDE:
        return _stride(pose, frame, *_STRIDE[category])
    if category in _RISES:
        return _STAND + max(0.0, 1 - frame / _RISES[category]) * (pose - _STAND)
    if category == "jump_squat":
        return _STAND + min(1.0, (frame + 1) / 3) * (pose - _STAND)
    if category == "wait":
        return pose + 3.0 * math.sin(frame * _SWAY) * np.array([0.7, 1, 1, -1, -1, 0, 0, 0, 0, 0])
    if category in _SPIN:
        pose = pose.copy()
        pose[-1] += _SPIN[category] * frame
    return pose


def period_of(category: str) -> float:
    """Frames after which the pose of an action comes back for ever; 0: it does not."""
    if category == "wait":
        return 2 * math.pi / _SWAY
    if category in _STRIDE:
        return 2 * math.pi / _STRIDE[category][1]
    return 360 / abs(_SPIN[category]) if category in _SPIN else 0.0


def _reach(frame: float, timing: Timing) -> float:
    """Extension of an attack: 0 at rest, negative during the wind-up, 1 while it hits."""
    if frame >= timing.first:
        if frame <= timing.last:
            return 1.0
        left = max(0.0, 1 - (frame - timing.last) / max(timing.end - timing.last, 1.0))
        return left * left * (3 - 2 * left)
    done = max(frame, 0.0) / timing.first
    if done < _SNAP:
        return -_BACK * math.sin(done / _SNAP * math.pi / 2)
    return -_BACK + (1 + _BACK) * (done - _SNAP) / (1 - _SNAP)


def _stride(pose: Pose, frame: float, swing: float, pace: float) -> Pose:
    """A walk cycle: legs and arms swing in opposition, the forward leg bent at the knee."""
    step = swing * math.sin(frame * pace)
    bend = max(0.0, math.cos(frame * pace)) * swing
    pose = pose.copy()
    pose[_FRONT_LEG] = step, step - bend
    pose[_BACK_LEG] = -step, -step - (swing - bend) / 2
    pose[_FRONT_ARM] -= step
    pose[_BACK_ARM] += step
    return pose
