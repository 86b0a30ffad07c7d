"""A player as a jointed figure.

A *rig* lists the layers of a character's figure and the joints that their parts follow; a *figure* has the place of
each joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.drawing.costumes import SEAT, SHADE, SHADED, Shape, bone, disc

if TYPE_CHECKING:
    from selfplay_melee.drawing.costumes import Kind, Paint
    from selfplay_melee.drawing.looks import CharacterLook
    from selfplay_melee.drawing.poses import Pose

_Point = tuple[float, float]

JOINTS: Final = (
    "neck", "hip", "head", "elbow", "hand", "knee", "foot", "back_elbow", "back_hand", "back_knee", "back_foot",
)  # fmt: skip
# By the name of a shape's frame: the joint that it is at, and the one that is straight below that in it.
_FRAMES: Final = {
    "head": ("head", "neck"), "torso": ("neck", "hip"), "hand": ("hand", "elbow"), "foot": ("foot", "knee"),
    "back_hand": ("back_hand", "back_elbow"), "back_foot": ("back_foot", "back_knee"),
}  # fmt: skip
_NECK: Final = 0.125  # from neck to head, in shares of the height like all lengths here
_CENTRE: Final = 0.45  # around which the body turns
_BALL: Final = 0.3  # radius of a head that is also the body


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A line along points, a polygon of them, or a circle around one.

    Without ``points``, they are the places of ``joints``. With them, they are (forward, up) in units from the first of
    two joints, where up is the way from the second joint to the first.
    """

    kind: Kind
    joints: tuple[int, ...]
    points: tuple[_Point, ...]
    size: float  # width of a line, radius of a circle, in units
    paint: Paint
    inner: bool  # inside of other parts: it has no outline

    def places(self, joints: NDArray[Any]) -> NDArray[Any]:
        """Its points [N, 2] in a figure; ``Part.place`` in ``draw.js`` of the page computes the same."""
        if not self.points:
            return joints[list(self.joints)]
        origin, below = joints[list(self.joints)]
        up = (origin - below) / math.hypot(*(origin - below))
        result: NDArray[Any] = origin + np.array(self.points) @ np.array([(up[1], -up[0]), up])
        return result


Rig = tuple[tuple[BodyPart, ...], ...]


def rig_of(look: CharacterLook) -> Rig:
    """The layers of a character's figure, the farthest first."""
    own = look.costume
    head = [disc("head", look.skin, 1.0, 0, 0), *(s for s in own if s.frame == "head" and not s.behind)]
    arm = [*(s for s in own if s.frame == "hand" and not s.behind), *_arm(look)]
    layers = (
        [shape for shape in own if shape.behind],
        [_shaded(shape) for side in (_arm(look, "back_"), _leg(look, "back_")) for shape in side],
        _leg(look),
        [bone(look.top, look.body, "neck", "hip"), *(s for s in own if s.frame == "torso" and not s.behind)],
        *((head, arm) if look.head > _BALL else (arm, head)),  # an arm does not hide the face
    )
    return tuple(tuple(_part(shape, look) for shape in layer) for layer in layers if layer)


def _arm(look: CharacterLook, side: str = "") -> list[Shape]:
    hand = disc(f"{side}hand", look.hands, 0.62 * look.limbs, 0, 0)
    return [bone(look.sleeves or look.top, look.limbs, "neck", f"{side}elbow", f"{side}hand"), hand]


def _leg(look: CharacterLook, side: str = "") -> list[Shape]:
    sole, toes = -0.15 * look.limbs, -0.75 * look.limbs  # below a shin, forward is back
    foot = Shape("line", f"{side}foot", (0.0, sole, toes, sole), 0.95 * look.limbs, look.feet)
    return [bone(look.legs, look.limbs, "hip", f"{side}knee", f"{side}foot"), foot]


def _shaded(shape: Shape) -> Shape:
    paint = shape.paint
    if paint == SEAT:
        paint = SHADE
    elif paint != SHADE:
        paint = "#" + "".join(f"{round(int(paint[i : i + 2], 16) * (1 - SHADED)):02x}" for i in (1, 3, 5))
    return Shape(shape.kind, shape.frame, shape.points, shape.size, paint)


def _part(shape: Shape, look: CharacterLook) -> BodyPart:
    """The part of a shape, whose lengths are in shares of the height or, at the head, of the head's radius."""
    unit = look.height * (look.head if shape.frame == "head" else 1.0)
    names = _FRAMES.get(shape.frame) or shape.frame.split()
    numbers = [round(number * unit, 2) for number in shape.points]
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    joints = tuple(JOINTS.index(name) for name in names)
    return BodyPart(shape.kind, joints, points, round(shape.size * unit, 3), shape.paint, shape.inner)


def figure_of(look: CharacterLook, pose: Pose) -> NDArray[np.float32]:
    """Joints [J, 2] of the pose in units around the feet, x forward and y up.

    The lower foot stands at y = 0 unless the body is turned.
    """
    lean, *limbs, turn = (float(angle) for angle in pose)
    legs = [_chain((0.0, 0.0), limbs[i], limbs[i + 1], look.leg) for i in (4, 6)]
    hip = (0.0, -min(y for leg in legs for _, y in leg))
    neck = _move(hip, 180 - lean, look.torso)
    head = _move(neck, 180 - lean * 0.6, _NECK)
    front_arm, back_arm = (_chain(neck, limbs[i], limbs[i + 1], look.arm) for i in (0, 2))
    front_leg, back_leg = (_chain(hip, limbs[i], limbs[i + 1], look.leg) for i in (4, 6))
    joints = np.array([neck, hip, head, *front_arm, *front_leg, *back_arm, *back_leg]) - (0.0, _CENTRE)
    sine, cosine = math.sin(math.radians(turn)), math.cos(math.radians(turn))
    turned: NDArray[np.float64] = joints @ np.array([[cosine, sine], [-sine, cosine]]) + (0.0, _CENTRE)
    return (turned * look.height).astype(np.float32)


def _chain(start: _Point, upper: float, lower: float, length: float) -> tuple[_Point, _Point]:
    middle = _move(start, upper, length)
    return middle, _move(middle, lower, length)


def _move(point: _Point, angle: float, length: float) -> _Point:
    radians = math.radians(angle)
    return point[0] + math.sin(radians) * length, point[1] - math.cos(radians) * length
