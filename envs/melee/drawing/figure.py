"""A player as a jointed figure.

A *rig* lists the parts of a character and the joints that they connect; a *figure* has the place of each joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from envs.melee.drawing.looks import CharacterLook
    from envs.melee.drawing.poses import Pose

Kind = Literal["line", "polygon", "circle"]
Paint = Literal["body", "behind", "light", "dark"]
_Point = tuple[float, float]

JOINTS: Final = (
    "neck", "hip", "head", "eye", "elbow", "hand", "knee", "foot",
    "back_elbow", "back_hand", "back_knee", "back_foot",
    "ear_1", "ear_2", "ear_3", "back_ear_1", "back_ear_2", "back_ear_3", "tail", "tail_tip", "blade",
)  # fmt: skip
_NECK: Final = 0.125  # from neck to head, in shares of the height like all lengths here
_CENTRE: Final = 0.45  # around which the body turns


@dataclass(frozen=True, slots=True)
class BodyPart:
    """Something to draw: a line along joints, a polygon of them, or a circle around one."""

    kind: Kind
    joints: tuple[int, ...]
    size: float  # width of a line, radius of a circle, in units
    paint: Paint


def rig_of(look: CharacterLook) -> tuple[BodyPart, ...]:
    """The parts of a character's figure, the farthest first."""
    limb, height = look.limbs, look.height

    def part(kind: Kind, joints: str, size: float, paint: Paint = "body") -> BodyPart:
        return BodyPart(kind, tuple(JOINTS.index(name) for name in joints.split()), size * height, paint)

    parts = [part("line", "hip tail tail_tip", 0.8 * limb, "behind")] if look.tail else []
    parts += [part("line", "neck back_elbow back_hand", limb, "behind")]
    parts += [part("line", "hip back_knee back_foot", limb, "behind")]
    if look.ears:
        parts += [part("polygon", f"{name}_1 {name}_2 {name}_3", 0.0) for name in ("back_ear", "ear")]
    parts += [part("line", "neck hip", look.body), part("circle", "head", look.head)]
    parts += [part("line", "hip knee foot", limb)]
    if look.blade:
        parts.append(part("line", "hand blade", 0.35 * limb, "light"))
    parts += [part("line", "neck elbow hand", limb), part("circle", "eye", 0.22 * look.head, "dark")]
    return tuple(parts)


def figure_of(look: CharacterLook, pose: Pose) -> NDArray[np.float32]:
    """Joints [J, 2] of the pose in units around the feet, x forward and y up.

    The lower foot stands at y = 0 unless the body is turned.
    """
    lean, *limbs, turn = (float(angle) for angle in pose)
    legs = [_chain((0.0, 0.0), limbs[i], limbs[i + 1], look.leg) for i in (4, 6)]
    hip = (0.0, -min(y for leg in legs for _, y in leg))
    neck = _move(hip, 180 - lean, look.torso)
    head = _move(neck, 180 - lean * 0.6, _NECK)
    up = 180 - lean * 0.6
    front_arm, back_arm = (_chain(neck, limbs[i], limbs[i + 1], look.arm) for i in (0, 2))
    front_leg, back_leg = (_chain(hip, limbs[i], limbs[i + 1], look.leg) for i in (4, 6))
    tail = _move(hip, -75 - lean, look.tail * 0.5)
    places = [
        neck, hip, head, _move(head, up - 80, 0.5 * look.head), *front_arm, *front_leg, *back_arm, *back_leg,
        *_ear(head, up - 28, look), *_ear(head, up + 34, look),
        tail, _move(tail, -140 - lean, look.tail * 0.6), _move(front_arm[1], limbs[1] + 35, look.blade),
    ]  # fmt: skip
    joints = np.array(places) - (0.0, _CENTRE)
    sine, cosine = math.sin(math.radians(turn)), math.cos(math.radians(turn))
    turned: NDArray[np.float64] = joints @ np.array([[cosine, sine], [-sine, cosine]]) + (0.0, _CENTRE)
    return (turned * look.height).astype(np.float32)


def _ear(head: _Point, angle: float, look: CharacterLook) -> tuple[_Point, _Point, _Point]:
    base = 0.8 * look.head
    return _move(head, angle - 24, base), _move(head, angle, look.head + look.ears), _move(head, angle + 24, base)


def _chain(start: _Point, upper: float, lower: float, length: float) -> tuple[_Point, _Point]:
    middle = _move(start, upper, length)
    return middle, _move(middle, lower, length)


def _move(point: _Point, angle: float, length: float) -> _Point:
    radians = math.radians(angle)
    return point[0] + math.sin(radians) * length, point[1] - math.cos(radians) * length
