"""A player as a jointed figure whose pose follows the group of its action.

Angles are degrees from straight down, positive towards where the figure faces; lengths are shares of its height.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

Point = tuple[float, float]
Limb = tuple[float, float]  # angles of the upper and the lower part

UPPER_ARM, LOWER_ARM, UPPER_LEG, LOWER_LEG = 0.19, 0.19, 0.23, 0.23
TORSO, HEAD = 0.34, 0.125
CENTRE = 0.45  # around which the body turns


@dataclass(frozen=True, slots=True)
class Pose:
    """Lean of the torso, four limbs, and a turn of the whole body, backwards positive."""

    lean: float
    front_arm: Limb
    back_arm: Limb
    front_leg: Limb = (18, -6)
    back_leg: Limb = (-14, -26)
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Joints of a posed figure in units around its feet, x forward, y up."""

    head: Point
    torso: tuple[Point, Point]  # neck, hip
    front: tuple[tuple[Point, ...], ...]  # arm and leg: three joints each
    back: tuple[tuple[Point, ...], ...]
    ears: tuple[tuple[Point, ...], ...]  # two triangles
    tail: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Build:
    """What tells characters apart, in shares of the height: 0 is none."""

    ears: float = 0.0
    tail: float = 0.0
    limbs: float = 0.1  # their thickness


BUILDS: Final = {
    "fox": Build(ears=0.17, tail=0.34, limbs=0.105),
    "falco": Build(ears=0.10, tail=0.20),
    "mewtwo": Build(ears=0.09, tail=0.50, limbs=0.085),
}


_STAND: Final = Pose(8, (25, 80), (-5, 55))
_CROUCH: Final = Pose(35, (40, 90), (10, 70), (75, -35), (40, -60))
_AIR: Final = Pose(5, (110, 130), (-70, -100), (45, -25), (-5, -50))
_HURT: Final = Pose(-28, (-30, -50), (-60, -80), (35, 15), (10, -10))
_DODGE: Final = Pose(-10, (30, 120), (10, 100), (50, -40), (20, -60))
POSES: Final[dict[str, Pose]] = {
    "wait": _STAND,
    "walk": Pose(12, (15, 50), (-15, 25)),
    "dash": Pose(38, (10, 70), (-50, -10)),
    "run": Pose(30, (20, 90), (-40, 20)),
    "turn": Pose(-12, (30, 60), (-20, 10)),
    "jump_squat": _CROUCH,
    "landing": _CROUCH,
    "landing_lag": _CROUCH,
    "crouch": _CROUCH,
    "jump": Pose(10, (150, 165), (-20, -10), (60, -20), (-10, -55)),
    "double_jump": Pose(20, (60, 120), (40, 100), (95, -40), (70, -60)),
    "fall": _AIR,
    "fall_special": Pose(-5, (140, 160), (-140, -160), (20, -10), (-20, -40)),
    "jab": Pose(18, (88, 92), (-20, 60)),
    "dash_attack": Pose(50, (80, 95), (-60, -30), (50, 0), (-40, -70)),
    "ftilt": Pose(-15, (10, 60), (-30, 0), (88, 92), (-8, -15)),
    "utilt": Pose(-8, (170, 175), (-20, 20)),
    "dtilt": Pose(40, (60, 80), (20, 60), (85, 88), (40, -60)),
    "fsmash": Pose(35, (92, 92), (80, 100), (40, 5), (-30, -45)),
    "usmash": Pose(-5, (175, 180), (160, 178), (22, -8), (-20, -26)),
    "dsmash": Pose(20, (75, 75), (-75, -75), (82, 70), (-82, -70)),
    "nair": Pose(0, (95, 95), (-95, -95), (75, 60), (-60, -80)),
    "fair": Pose(30, (100, 92), (85, 90), (40, -10), (-10, -50)),
    "bair": Pose(30, (40, 80), (10, 60), (30, -20), (-92, -92)),
    "uair": Pose(-25, (60, 90), (-40, -20), (150, 165), (20, -20)),
    "dair": Pose(15, (140, 150), (-130, -150), (8, 0), (-8, 0)),
    "special": Pose(10, (92, 90), (86, 92), (30, -5), (-25, -40)),
    "shield": Pose(15, (60, 140), (45, 130), (35, -20), (-10, -40)),
    "shield_stun": Pose(-5, (60, 140), (45, 130), (35, -10), (-20, -45)),
    "shield_break": Pose(30, (15, 20), (-5, 5)),
    "spot_dodge": _DODGE,
    "roll": Pose(40, (60, 140), (50, 130), (100, -60), (80, -80)),
    "air_dodge": _DODGE,
    "grab": Pose(28, (85, 95), (80, 92), (35, 0), (-30, -45)),
    "holding": Pose(15, (85, 100), (80, 95)),
    "throw": Pose(-15, (130, 140), (120, 135), (30, 0), (-25, -35)),
    "grabbed": Pose(-12, (-10, 20), (-25, 0), (15, -15), (-5, -35)),
    "hitstun": _HURT,
    "tumble": Pose(-20, (110, 130), (-110, -130), (60, 20), (-20, -60)),
    "down": Pose(0, (120, 140), (-20, -20), (10, 0), (-10, -10), turn=85),
    "getup": _CROUCH,
    "tech": _CROUCH,
    "ledge_hang": Pose(0, (172, 178), (165, 176), (15, -10), (-10, -25)),
    "ledge_action": Pose(25, (120, 100), (90, 60), (80, -30), (10, -40)),
    "respawn": _STAND,
    "taunt": Pose(-10, (150, 170), (-30, 60)),
}
_STRIDE: Final = {"walk": (28.0, 0.20), "dash": (55.0, 0.42), "run": (50.0, 0.38)}  # degrees, radians a frame
_SPIN: Final = {"double_jump": -18.0, "tumble": 14.0, "roll": -16.0}  # degrees a frame


def pose_of(category: str, frame: float) -> Pose:
    """The pose of an action's group on a frame of the action."""
    pose = POSES.get(category, _STAND)
    if category in _STRIDE:
        swing, pace = _STRIDE[category]
        step = swing * math.sin(frame * pace)
        bend = max(0.0, math.cos(frame * pace)) * swing
        front, back = (step, step - bend), (-step, -step - (swing - bend) / 2)
        arms = (pose.front_arm[0] - step, pose.front_arm[1] - step), (pose.back_arm[0] + step, pose.back_arm[1] + step)
        return replace(pose, front_leg=front, back_leg=back, front_arm=arms[0], back_arm=arms[1])
    return replace(pose, turn=pose.turn + _SPIN.get(category, 0.0) * frame)


def skeleton(pose: Pose, height: float, build: Build) -> Skeleton:
    """Joints of the pose; the lower foot stands at y = 0 unless the body is turned."""
    legs = [_chain((0.0, 0.0), leg, UPPER_LEG, LOWER_LEG) for leg in (pose.front_leg, pose.back_leg)]
    hip = (0.0, -min(joint[1] for leg in legs for joint in leg))
    neck = _move(hip, 180 - pose.lean, TORSO)
    head = _move(neck, 180 - pose.lean * 0.6, HEAD)
    arms = [_chain(neck, arm, UPPER_ARM, LOWER_ARM) for arm in (pose.front_arm, pose.back_arm)]
    legs = [_chain(hip, leg, UPPER_LEG, LOWER_LEG) for leg in (pose.front_leg, pose.back_leg)]
    tail = (hip, _move(hip, -75 - pose.lean, build.tail * 0.5), _move(hip, -110 - pose.lean, build.tail))
    ears = [
        (
            _move(head, angle - 24, HEAD * 0.8),
            _move(head, angle, HEAD + build.ears),
            _move(head, angle + 24, HEAD * 0.8),
        )
        for angle in (180 - pose.lean * 0.6 - 28, 180 - pose.lean * 0.6 + 34)
    ]
    angle = math.radians(pose.turn)

    def place(joints: Sequence[Point]) -> tuple[Point, ...]:
        turned = [
            (x * math.cos(angle) - (y - CENTRE) * math.sin(angle), x * math.sin(angle) + (y - CENTRE) * math.cos(angle))
            for x, y in joints
        ]
        return tuple((x * height, (y + CENTRE) * height) for x, y in turned)

    neck, hip, head = place((neck, hip, head))
    return Skeleton(
        head=head,
        torso=(neck, hip),
        front=(place(arms[0]), place(legs[0])),
        back=(place(arms[1]), place(legs[1])),
        ears=(place(ears[0]), place(ears[1])) if build.ears else (),
        tail=place(tail) if build.tail else (),
    )


def _chain(start: Point, limb: Limb, upper: float, lower: float) -> tuple[Point, Point, Point]:
    middle = _move(start, limb[0], upper)
    return start, middle, _move(middle, limb[1], lower)


def _move(point: Point, angle: float, length: float) -> Point:
    radians = math.radians(angle)
    return point[0] + math.sin(radians) * length, point[1] - math.cos(radians) * length
