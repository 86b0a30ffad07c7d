"""The burst at the blast line where a player lost a stock: the same numbers for pictures and pages.

Lengths are in halves of the picture's height. ``age`` goes from 0 to 1.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Ray(NamedTuple):
    """A ray that shoots out of the burst and is gone in the end."""

    angle: float  # from straight inwards, radians
    length: float
    width: float
    light: bool  # in light instead of the colour of who lost the stock


_SIDE: Final = (
    (0.14, 1.35, 0.1, False), (0.3, 1.0, 0.12, False), (0.44, 0.6, 0.06, True), (0.62, 0.85, 0.1, False),
    (0.9, 0.6, 0.09, False), (1.15, 0.4, 0.05, True), (1.35, 0.5, 0.07, False),
)  # fmt: skip
RAYS: Final = (
    *(Ray(way * angle, length, width, light) for angle, length, width, light in _SIDE for way in (-1, 1)),
    Ray(0.0, 1.6, 0.2, False),
    Ray(0.0, 1.25, 0.08, True),
)
RING: Final = 0.75  # radius of the ring at its end
RING_WIDTH: Final = 0.12  # at its beginning
FLASH: Final = 0.32  # radius of the flash at its beginning
INWARDS: Final = ((0, 1), (1, 0), (-1, 0), (0, -1))
"""Right and up, by the state: out at the bottom, on the left, on the right, and all others at the top."""


def ray_at(age: float) -> tuple[float, float]:
    """Shares of its length at which a ray ends and begins."""
    return 1 - (1 - age) ** 3, age**1.5


def burst_facts() -> dict[str, Any]:
    """For ``draw.js``, as JSON."""
    return {"rays": RAYS, "ring": RING, "ring_width": RING_WIDTH, "flash": FLASH, "inwards": INWARDS}
