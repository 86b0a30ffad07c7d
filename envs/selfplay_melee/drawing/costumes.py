"""What characters wear and have on their bodies: shapes that make them different at a glance.

Shapes are simple ones of our own, judged by eye.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["line", "polygon", "circle"]
Paint = str  # SEAT, SHADE or "#rrggbb"

SEAT: Final = "seat"  # the colour of the seat
SHADE: Final = "shade"  # the same on the far side
SHADED: Final = 0.38  # share of black in what is on the far side


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape that follows the body.

    ``frame`` is a part of the body, or names of joints that a line runs along. At the head the origin is its middle and
    the unit its radius; elsewhere the unit is the height. The origin of the torso is the neck, that of a hand or a foot
    its joint; up is the way there from the hip, the elbow or the knee.
    """

    kind: Kind
    frame: str
    points: tuple[float, ...]  # forward and up, in turns
    size: float = 0.0  # width of a line, radius of a circle
    paint: Paint = SEAT
    inner: bool = False  # inside of other parts: it has no outline
    behind: bool = False  # the whole body


def bone(paint: Paint, width: float, *joints: str) -> Shape:
    return Shape("line", " ".join(joints), (), width, paint)


def disc(
    frame: str, paint: Paint, radius: float, x: float, y: float, *, inner: bool = False, behind: bool = False
) -> Shape:
    return Shape("circle", frame, (x, y), radius, paint, inner, behind)


def poly(frame: str, paint: Paint, *points: float) -> Shape:
    return Shape("polygon", frame, points, 0.0, paint)


def back(frame: str, paint: Paint, *points: float) -> Shape:
    return Shape("polygon", frame, points, 0.0, paint, behind=True)


def mark(frame: str, paint: Paint, *points: float) -> Shape:
    return Shape("polygon", frame, points, 0.0, paint, inner=True)


def band(frame: str, paint: Paint, width: float, *points: float, behind: bool = False) -> Shape:
    return Shape("line", frame, points, width, paint, behind=behind)


def stripe(frame: str, paint: Paint, width: float, *points: float) -> Shape:
    return Shape("line", frame, points, width, paint, inner=True)


def _oval(x: float, y: float, wide: float, high: float) -> tuple[float, ...]:
    turns = [n * math.tau / 14 for n in range(14)]
    return tuple(round(v, 3) for a in turns for v in (x + wide * math.cos(a), y + high * math.sin(a)))


def _sword(length: float, width: float, blade: Paint, hilt: Paint) -> tuple[Shape, ...]:
    """Held 35 degrees above the forearm."""
    x, y = -math.sin(math.radians(35)), math.cos(math.radians(35))

    def at(along: float, across: float) -> tuple[float, float]:
        return round(along * x + across * y, 3), round(along * y - across * x, 3)

    edge = width / 2
    return (
        poly("hand", blade, *at(0.05, edge), *at(length - 0.06, edge), *at(length, 0), *at(length - 0.06, -edge),
             *at(0.05, -edge)),
        band("hand", hilt, 0.03, *at(-0.05, 0), *at(0.06, 0)),
        band("hand", hilt, 0.035, *at(0.07, 0.065), *at(0.07, -0.065)),
    )  # fmt: skip


INK, SNOW, GOLD, FAIR, STEEL = "#15161c", "#f7f5ee", "#f0c445", "#f1cda9", "#dfe6f2"
_EYE: Final = disc("head", INK, 0.17, 0.52, 0.08, inner=True)
_POINTED_EAR: Final = poly("head", FAIR, -0.1, 0.1, -1.15, 0.55, -0.35, -0.3)


def _cap(paint: Paint, high: float = 1.3) -> Shape:
    return poly("head", paint, -1.02, 0.2, -0.95, 0.8, -0.2, high, 0.6, high - 0.1, 0.95, 0.6, 1.7, 0.4, 1.6, 0.15,
                0.7, 0.25)  # fmt: skip


def _plumber(cap: Paint, high: float, suit: Paint, hair: Paint) -> tuple[Shape, ...]:
    return (
        mark("torso", suit, -0.13, -0.15, 0.14, -0.15, 0.15, -0.36, -0.15, -0.36),
        stripe("torso", suit, 0.05, 0.07, -0.02, 0.1, -0.18),
        poly("head", hair, -0.95, 0.3, -1.05, -0.35, -0.5, -0.55, -0.35, 0.2),
        _EYE,
        disc("head", FAIR, 0.33, 1.05, -0.12),
        poly("head", hair, 0.5, -0.3, 1.3, -0.42, 1.1, -0.72, 0.4, -0.66),
        _cap(cap, high),
        disc("head", SNOW, 0.22, 0.55, 0.78, inner=True),
    )


def _hero(tunic: Paint, sword: tuple[Shape, ...], shield: tuple[Shape, ...]) -> tuple[Shape, ...]:
    return (
        *shield,
        poly("torso", tunic, -0.12, -0.2, 0.12, -0.2, 0.17, -0.45, -0.17, -0.45),
        stripe("torso", "#6b4423", 0.04, -0.11, -0.25, 0.12, -0.25),
        _POINTED_EAR,
        poly("head", "#e0b955", 0.95, 0.35, 0.75, 0.8, -0.6, 0.8, -0.75, -0.4, -0.35, 0.1, 0.35, 0.45, 0.7, 0.1),
        _EYE,
        poly("head", tunic, 0.98, 0.5, 0.3, 1.25, -0.75, 1.2, -1.9, 0.4, -2.6, -0.75, -1.45, -0.25, -0.95, 0.3, 0.1,
             0.6),
        *sword,
    )  # fmt: skip


def _climber(parka: Paint) -> tuple[Shape, ...]:
    return (
        band("torso", SNOW, 0.09, -0.17, -0.27, 0.17, -0.27),
        disc("head", parka, 1.28, -0.12, 0.08),
        disc("head", SNOW, 1.0, 0.25, 0.0, inner=True),
        disc("head", FAIR, 0.74, 0.36, -0.04, inner=True),
        disc("head", INK, 0.15, 0.72, 0.06, inner=True),
        band("hand", "#8a5a2c", 0.06, 0.0, -0.12, -0.28, 0.4),
        band("hand", "#b9854a", 0.2, -0.42, 0.32, -0.14, 0.48),
    )


def _mouse(fur: Paint, cheeks: Paint, ear: float, *, black_edge: bool) -> tuple[Shape, ...]:
    """The head; its ears, of a length in radii, are black at their tips or all around."""
    shapes = []
    for from_x, from_y, tip_x, to_x, to_y in ((-0.75, 0.5, -1.35, -0.1, 0.95), (0.05, 0.95, 0.47, 0.6, 0.7)):
        tip, half = 0.85 + ear, 0.42 if black_edge else 0.24
        x, y = 0.25 * (from_x + to_x) + 0.37 * tip_x, 0.5 * (from_y + to_y + ear)  # of its widest place
        shape = (from_x, from_y, x - half, y, tip_x, tip, x + half, y, to_x, to_y)
        if black_edge:
            left, right = from_x + 0.2, to_x - 0.15
            inside = (left, from_y, x - half / 2, y, 0.95 * tip_x, tip - 0.4, x + half / 2, y, right, to_y)
            shapes += [poly("head", INK, *shape), mark("head", fur, *inside)]
        else:
            high = y + 0.25 * ear
            black = (1.12 * x - 0.8 * half, high, tip_x, tip, 1.12 * x + 0.8 * half, high)
            shapes += [poly("head", fur, *shape), mark("head", INK, *black)]
    return (
        *shapes,
        disc("head", INK, 0.16, 0.5, 0.15, inner=True),
        disc("head", cheeks, 0.24, 0.28, -0.4, inner=True),
        disc("head", INK, 0.09, 0.97, -0.08, inner=True),
    )


# By Melee's internal character id.
COSTUMES: Final[dict[int, tuple[Shape, ...]]] = {
    0: _plumber("#d8352a", 1.35, "#2f52b5", "#5a3319"),  # Mario
    1: (  # Fox
        back("torso", "#c8742f", 0.0, -0.27, -0.2, -0.36, -0.42, -0.32, -0.56, -0.1, -0.5, 0.08, -0.36, -0.08, -0.2,
             -0.2),
        back("torso", "#f6e7c9", -0.5, -0.22, -0.56, -0.1, -0.5, 0.08, -0.38, -0.07),
        stripe("torso", "#8f8a7a", 0.03, 0.02, -0.05, 0.03, -0.3),
        band("torso", SEAT, 0.075, -0.1, 0.0, 0.11, -0.01),
        poly("head", "#a85d23", -0.85, 0.4, -0.85, 1.95, 0.0, 0.9),
        poly("head", "#c8742f", 0.0, 0.85, 0.3, 2.05, 0.85, 0.5),
        poly("head", "#f6e7c9", 0.45, 0.12, 1.75, -0.35, 1.6, -0.6, 0.5, -0.95, -1.1, -0.85, -0.35, -0.4),
        disc("head", INK, 0.2, 1.66, -0.36),
        _EYE,
    ),
    2: (  # Captain Falcon
        back("torso", SEAT, 0.0, 0.07, -0.22, 0.14, -0.52, 0.06, -0.42, 0.0, -0.5, -0.1, -0.2, -0.02),
        stripe("torso", GOLD, 0.05, -0.11, -0.3, 0.11, -0.3),
        band("torso", SEAT, 0.08, -0.1, 0.03, 0.11, 0.02),
        disc("torso", GOLD, 0.075, 0.03, -0.08),
        poly("head", "#b52a2a", 1.05, 0.2, 0.9, 0.85, 0.3, 1.2, -0.45, 1.15, -1.1, 0.6, -1.15, -0.3, -0.8, -0.85, -0.2,
             -0.75, 0.0, -0.1, 0.4, 0.0),
        mark("head", INK, 0.3, 0.42, 1.04, 0.3, 1.02, -0.02, 0.35, 0.02),
        poly("head", GOLD, 0.35, 0.65, -0.3, 1.05, -1.8, 2.0, -1.3, 1.15, -1.75, 0.95, -0.9, 0.55, -0.2, 0.35),
    ),
    3: (  # Donkey Kong
        mark("torso", "#d9a873", *_oval(0.08, -0.15, 0.09, 0.13)),
        mark("torso", SEAT, 0.05, -0.01, 0.13, -0.01, 0.17, -0.22, 0.1, -0.28, 0.04, -0.22),
        poly("head", "#5f3517", -0.4, 0.9, 0.0, 1.6, 0.3, 0.95),
        poly("head", "#d9a873", 0.2, 0.45, 0.85, 0.5, 1.3, -0.1, 1.35, -0.65, 0.6, -1.05, -0.1, -0.7, 0.1, -0.1),
        disc("head", "#d9a873", 0.28, -0.55, -0.05),
        stripe("head", "#5f3517", 0.22, 0.2, 0.5, 0.9, 0.45),
        disc("head", INK, 0.15, 0.6, 0.2, inner=True),
        disc("head", INK, 0.09, 1.2, -0.2, inner=True),
    ),
    4: (  # Kirby
        mark("head", INK, *_oval(0.42, 0.38, 0.12, 0.28)),
        mark("head", INK, *_oval(0.82, 0.36, 0.09, 0.25)),
        disc("head", SNOW, 0.08, 0.44, 0.52, inner=True),
        mark("head", "#e8698f", *_oval(0.15, 0.05, 0.18, 0.11)),
        disc("head", "#9b2740", 0.09, 0.66, 0.0, inner=True),
    ),
    5: (  # Bowser
        back("torso", "#d8b53a", 0.0, -0.28, -0.25, -0.36, -0.5, -0.34, -0.3, -0.2),
        back("torso", "#f2ead2", -0.16, 0.08, -0.4, 0.16, -0.3, -0.02, -0.52, -0.02, -0.36, -0.14, -0.52, -0.26, -0.3,
             -0.26, -0.3, -0.4, -0.12, -0.34),
        back("torso", "#3f8f45", *_oval(-0.14, -0.13, 0.21, 0.25)),
        mark("torso", "#f0dca0", *_oval(0.11, -0.18, 0.1, 0.19)),
        back("head", "#d4491f", 0.2, 0.9, 0.1, 1.6, -0.4, 1.15, -1.0, 1.5, -1.0, 0.8, -1.6, 0.5, -1.0, 0.1, -1.3, -0.7,
             -0.3, -0.5),
        poly("head", "#f2ead2", -0.55, 0.75, -0.75, 1.65, -0.05, 1.0),
        poly("head", "#f2ead2", 0.3, 0.9, 0.5, 1.75, 0.8, 0.7),
        poly("head", "#f0dca0", 0.4, 0.2, 1.5, 0.2, 1.8, -0.4, 1.3, -0.95, 0.3, -1.0, 0.0, -0.4),
        stripe("head", INK, 0.1, 0.5, -0.5, 1.55, -0.5),
        _EYE,
        band("hand", INK, 0.07, -0.07, -0.07, 0.07, -0.07),
    ),
    6: _hero("#3f8a3a", _sword(0.55, 0.05, STEEL, "#4a55a8"), (  # Link
        back("torso", "#8f98b3", -0.28, 0.02, -0.08, 0.02, -0.08, -0.24, -0.2, -0.38, -0.32, -0.2),
        back("torso", SEAT, -0.24, -0.03, -0.12, -0.03, -0.12, -0.22, -0.2, -0.31, -0.28, -0.18),
    )),
    7: (  # Sheik
        band("head", "#e3bd57", 0.5, -0.8, 0.35, -1.7, 0.15, -2.2, -0.9, -2.0, -2.1, behind=True),
        mark("torso", SEAT, -0.06, -0.03, 0.09, -0.03, 0.09, -0.21, -0.03, -0.21),
        stripe("torso", "#e9e3d0", 0.05, -0.06, -0.28, 0.06, -0.28),
        poly("head", "#efe9d8", -1.05, 0.0, -1.0, 0.75, -0.3, 1.2, 0.5, 1.1, 0.85, 0.55, -0.2, 0.3, -0.3, -0.15),
        poly("head", "#efe9d8", 1.02, -0.12, 0.95, -0.75, 0.2, -1.1, -0.7, -0.85, -1.05, 0.05, -0.2, -0.05),
        poly("head", "#e3bd57", 0.15, 1.05, 0.8, 0.95, 1.15, 0.1, 0.95, -0.4, 0.75, 0.35, 0.2, 0.6),
        disc("head", "#a1332d", 0.16, 0.5, 0.12, inner=True),
    ),
    8: (  # Ness
        back("torso", "#9a6a35", -0.08, 0.0, -0.26, -0.02, -0.28, -0.22, -0.08, -0.24),
        stripe("torso", "#2b4fb3", 0.045, -0.15, -0.07, 0.16, -0.07),
        stripe("torso", "#2b4fb3", 0.045, -0.16, -0.17, 0.17, -0.17),
        poly("head", "#3a2318", -1.0, 0.2, -0.95, -0.5, -0.5, -0.6, -0.3, 0.15),
        disc("head", INK, 0.13, 0.55, -0.1, inner=True),
        poly("head", "#d8352a", -1.05, 0.25, -0.95, 0.85, -0.3, 1.2, 0.5, 1.12, 1.0, 0.3),
        band("head", "#2b4fb3", 0.24, 0.55, 0.3, 1.5, 0.25),
        stripe("head", SEAT, 0.22, -0.9, 0.38, 0.6, 0.4),
    ),
    9: (  # Peach
        back("head", "#f2d35c", 0.3, 1.05, -0.6, 1.1, -1.3, 0.4, -1.35, -0.8, -1.75, -1.9, -1.0, -2.2, -0.3, -1.6, 0.0,
             0.0),
        poly("torso", "#f08fb8", -0.09, -0.2, 0.09, -0.2, 0.19, -0.4, 0.28, -0.7, -0.3, -0.7, -0.2, -0.4),
        stripe("torso", "#d85f95", 0.045, -0.27, -0.66, 0.25, -0.66),
        stripe("torso", "#d85f95", 0.05, -0.1, -0.24, 0.1, -0.24),
        disc("torso", "#f7b6d0", 0.08, 0.02, -0.05),
        disc("torso", SEAT, 0.045, 0.09, -0.07, inner=True),
        _EYE,
        poly("head", "#f2d35c", 0.98, 0.3, 0.75, 0.85, -0.2, 1.1, -0.95, 0.6, -0.95, -0.5, -0.5, -0.2, -0.3, 0.4, 0.5,
             0.55),
        poly("head", GOLD, -0.6, 0.9, -0.75, 1.75, -0.35, 1.35, -0.05, 1.95, 0.25, 1.35, 0.65, 1.7, 0.5, 0.9),
        disc("head", "#d8352a", 0.14, -0.05, 1.2, inner=True),
    ),
    10: _climber("#3a62c4"),  # Popo
    11: _climber("#e077a4"),  # Nana
    12: (  # Pikachu
        back("torso", "#d9a62c", 0.0, -0.22, -0.3, -0.18, -0.28, -0.02, -0.5, 0.02, -0.47, 0.2, -0.95, 0.46, -0.86,
             0.02, -0.62, -0.06, -0.6, -0.16, -0.4, -0.16, -0.4, -0.28),
        *_mouse("#f4ce3a", "#e2453c", 1.45, black_edge=False),
    ),
    13: (  # Samus
        mark("torso", "#e0b02c", -0.1, -0.05, 0.12, -0.05, 0.1, -0.2, -0.08, -0.2),
        disc("torso", "#e5892b", 0.13, -0.1, -0.01),
        disc("torso", "#f09a38", 0.13, 0.06, -0.02),
        disc("torso", SEAT, 0.05, 0.06, -0.02, inner=True),
        mark("head", "#58d39a", 0.2, 0.45, 0.95, 0.3, 1.0, -0.05, 0.55, -0.25, 0.15, -0.1),
        poly("head", "#8e2a22", -0.9, 0.5, -0.6, 1.15, 0.3, 1.2, 0.7, 0.75, 0.0, 0.7),
        band("hand", "#3f9a5f", 0.16, 0.0, -0.16, 0.0, 0.1),
        band("hand", "#2b6b42", 0.1, 0.0, 0.1, 0.0, 0.14),
    ),
    14: (  # Yoshi
        back("torso", "#5fb546", 0.0, -0.2, -0.2, -0.3, -0.42, -0.22, -0.26, -0.16, -0.1, -0.08),
        mark("torso", SNOW, *_oval(0.1, -0.17, 0.08, 0.16)),
        poly("torso", "#d8352a", *_oval(-0.13, -0.12, 0.09, 0.11)),
        stripe("torso", SEAT, 0.05, -0.1, -0.3, 0.1, -0.3),
        back("head", "#e2502e", -0.4, 1.0, -1.1, 1.1, -0.95, 0.55, -1.45, 0.3, -1.0, -0.05, -1.3, -0.5, -0.7, -0.6),
        disc("head", "#6fc653", 0.85, 1.15, -0.3),
        poly("head", SNOW, -0.6, -0.3, 0.3, -0.35, 0.6, -0.95, -0.1, -1.05),
        poly("head", SNOW, *_oval(0.35, 0.85, 0.33, 0.5)),
        mark("head", INK, *_oval(0.46, 0.82, 0.14, 0.28)),
        disc("head", INK, 0.09, 1.7, -0.05, inner=True),
    ),
    15: (  # Jigglypuff
        poly("head", "#f9cfdd", -0.95, 0.35, -0.98, 1.3, -0.35, 0.95),
        mark("head", INK, -0.85, 0.6, -0.88, 1.08, -0.55, 0.9),
        poly("head", "#f9cfdd", 0.5, 0.9, 0.95, 1.25, 0.95, 0.35),
        mark("head", SNOW, *_oval(0.42, 0.2, 0.29, 0.32)),
        mark("head", "#2f9aa8", *_oval(0.49, 0.19, 0.2, 0.25)),
        disc("head", INK, 0.1, 0.52, 0.18, inner=True),
        poly("head", "#f3b4cb", -0.3, 0.98, 0.3, 1.25, 0.85, 0.9, 0.78, 0.6, 0.5, 0.55, 0.4, 0.75, 0.05, 0.75),
        stripe("head", "#c2577f", 0.07, 0.66, -0.24, 0.86, -0.17),
    ),
    16: (  # Mewtwo
        band("torso", "#7d57a8", 0.075, 0.0, -0.31, -0.17, -0.45, -0.38, -0.42, -0.54, -0.2, -0.54, 0.06, -0.44, 0.2,
             behind=True),
        disc("torso", "#7d57a8", 0.055, -0.43, 0.22, behind=True),
        band("head", "#b7afc9", 0.42, -0.7, 0.3, -1.35, -0.5, -0.5, -1.7, behind=True),
        mark("torso", "#7d57a8", *_oval(0.01, -0.27, 0.075, 0.1)),
        stripe("torso", SEAT, 0.05, -0.09, -0.04, 0.1, -0.05),
        poly("head", "#cdc7db", -0.9, 0.2, -1.0, 1.45, -0.6, 1.55, -0.1, 0.85),
        poly("head", "#cdc7db", 0.1, 0.85, 0.45, 1.6, 0.85, 1.5, 0.9, 0.2),
        poly("head", "#cdc7db", 0.5, 0.1, 1.25, -0.4, 1.05, -0.75, 0.3, -0.9),
        mark("head", "#6b2fae", 0.3, 0.3, 0.9, 0.05, 0.45, -0.12),
    ),
    17: _plumber("#35a347", 1.65, "#28408c", "#4a2b16"),  # Luigi
    18: (  # Marth
        back("torso", SEAT, 0.06, 0.04, -0.08, 0.04, -0.24, -0.12, -0.5, -0.56, -0.3, -0.66, -0.06, -0.62, 0.02, -0.3),
        stripe("torso", GOLD, 0.03, -0.08, -0.24, 0.09, -0.24),
        disc("torso", "#c9d3ea", 0.065, 0.02, -0.03),
        _EYE,
        poly("head", "#34509f", 1.0, 0.45, 0.55, 1.1, -0.25, 1.25, -1.0, 0.85, -1.3, 0.1, -1.25, -0.95, -0.75, -0.6,
             -0.5, -0.95, -0.35, 0.1, 0.1, 0.45, 0.6, 0.3),
        stripe("head", GOLD, 0.16, -0.8, 0.62, 0.75, 0.68),
        *_sword(0.68, 0.045, STEEL, GOLD),
    ),
    19: (  # Zelda
        back("head", "#7a4a26", 0.1, 1.1, -0.8, 1.0, -1.3, 0.2, -1.3, -1.4, -1.1, -2.8, -0.5, -2.6, -0.2, -0.6),
        poly("torso", "#c9a2dc", -0.08, -0.2, 0.09, -0.2, 0.15, -0.44, 0.19, -0.68, -0.24, -0.68, -0.14, -0.4),
        mark("torso", SEAT, 0.0, -0.24, 0.085, -0.24, 0.12, -0.6, 0.03, -0.64, -0.03, -0.6),
        stripe("torso", GOLD, 0.035, -0.08, -0.22, 0.09, -0.22),
        poly("torso", GOLD, -0.13, 0.01, 0.0, 0.05, 0.12, 0.0, 0.08, -0.07, -0.1, -0.07),
        _EYE,
        poly("head", "#7a4a26", 1.0, 0.35, 0.6, 1.0, -0.3, 1.15, -1.05, 0.6, -1.0, -0.7, -0.5, -0.4, -0.35, 0.4, 0.6,
             0.5),
        _POINTED_EAR,
        stripe("head", GOLD, 0.16, -0.2, 0.72, 0.85, 0.55),
    ),
    20: _hero("#4f9f3f", _sword(0.42, 0.05, STEEL, "#7a4a26"), (  # Young Link
        disc("torso", "#9a6a35", 0.17, -0.16, -0.14, behind=True),
        disc("torso", SEAT, 0.07, -0.2, -0.14, behind=True),
    )),
    21: (  # Dr. Mario
        back("torso", "#e6e9ef", -0.13, 0.0, -0.22, -0.5, 0.0, -0.55, 0.06, -0.3),
        stripe("torso", SEAT, 0.05, 0.1, -0.02, 0.12, -0.2),
        poly("head", "#5a3319", 0.9, 0.45, 0.6, 1.1, -0.3, 1.2, -1.0, 0.7, -1.1, -0.3, -0.5, -0.55, -0.35, 0.35),
        _EYE,
        disc("head", FAIR, 0.33, 1.05, -0.12),
        poly("head", "#5a3319", 0.5, -0.3, 1.3, -0.42, 1.1, -0.72, 0.4, -0.66),
        stripe("head", INK, 0.14, -0.95, 0.55, 0.85, 0.6),
        disc("head", STEEL, 0.36, 0.72, 0.78),
    ),
    22: (  # Falco
        back("torso", "#28468f", 0.0, -0.24, -0.3, -0.3, -0.52, -0.4, -0.36, -0.42, -0.46, -0.54, -0.26, -0.48, -0.24,
             -0.6, -0.04, -0.42),
        mark("torso", "#b5433b", -0.05, -0.02, 0.1, -0.02, 0.07, -0.16, -0.02, -0.16),
        band("torso", SEAT, 0.06, -0.1, -0.3, 0.1, -0.3),
        poly("head", "#3a62c4", 0.3, 0.95, -0.5, 1.15, -1.9, 1.7, -1.2, 0.85, -2.1, 0.75, -1.15, 0.25, -1.75, -0.25,
             -0.7, -0.5),
        mark("head", "#d8412f", 0.0, 0.5, 0.95, 0.4, 0.75, -0.15, 0.1, -0.2),
        poly("head", "#f3b02f", 0.6, 0.15, 1.2, 0.2, 1.95, -0.25, 1.8, -0.6, 1.5, -0.4, 0.75, -0.6),
        disc("head", INK, 0.15, 0.5, 0.15, inner=True),
    ),
    23: (  # Pichu
        back("torso", INK, 0.0, -0.22, -0.28, -0.16, -0.26, -0.02, -0.55, 0.08, -0.42, -0.2, -0.3, -0.3),
        *_mouse("#f8e08a", "#f08fb0", 1.2, black_edge=True),
    ),
    24: (  # Mr. Game & Watch
        disc("head", "#2c2f3a", 0.3, 1.15, -0.05),
        mark("head", "#8a90a6", -0.55, 0.5, -0.2, 0.85, 0.1, 0.95, -0.2, 0.6),
        poly("hand", GOLD, -0.04, 0.06, 0.04, 0.06, 0.12, 0.22, -0.12, 0.22),
    ),
    25: (  # Ganondorf
        back("torso", SEAT, 0.12, 0.03, -0.16, 0.04, -0.32, -0.2, -0.46, -0.7, -0.26, -0.76, -0.08, -0.7, 0.04, -0.3),
        poly("torso", "#4a3b33", -0.13, -0.22, 0.13, -0.22, 0.17, -0.42, -0.16, -0.42),
        stripe("torso", GOLD, 0.035, -0.13, -0.27, 0.14, -0.27),
        poly("torso", "#7a5a34", -0.1, 0.03, -0.26, 0.05, -0.24, -0.09, -0.1, -0.1),
        poly("torso", "#8f6a3c", 0.0, 0.04, 0.2, 0.05, 0.19, -0.1, 0.02, -0.11),
        poly("head", "#c14f1f", 0.8, 0.55, 0.4, 1.1, -0.2, 1.3, -0.9, 1.15, -1.35, 0.4, -1.5, -0.6, -1.2, -1.3, -0.75,
             -0.8, -0.5, 0.1, 0.2, 0.5),
        poly("head", "#8d8458", 0.8, 0.3, 1.4, -0.2, 0.9, -0.3),
        poly("head", "#c14f1f", 1.0, -0.5, 0.85, -1.2, 0.2, -1.2, -0.3, -0.75, 0.3, -0.65),
        stripe("head", GOLD, 0.16, -0.4, 0.65, 0.85, 0.55),
        _EYE,
    ),
    26: (  # Roy
        back("torso", SEAT, 0.05, 0.03, -0.08, 0.03, -0.26, -0.16, -0.44, -0.42, -0.22, -0.5, 0.0, -0.36),
        mark("torso", "#8fa3cf", -0.08, -0.02, 0.09, -0.02, 0.08, -0.2, -0.07, -0.2),
        disc("torso", "#e6e9ef", 0.07, 0.02, -0.02),
        _EYE,
        poly("head", "#cc3a24", 1.1, 0.35, 0.9, 0.85, 1.0, 1.35, 0.4, 1.15, 0.15, 1.8, -0.3, 1.2, -1.05, 1.6, -0.95,
             0.85, -1.65, 0.6, -1.1, 0.05, -1.3, -0.55, -0.5, -0.4, -0.3, 0.2, 0.2, 0.5, 0.6, 0.2),
        stripe("head", "#3757a8", 0.16, -0.8, 0.45, 0.85, 0.5),
        *_sword(0.6, 0.075, "#f2dfae", "#b8862d"),
    ),
}  # fmt: skip
