"""Events of a .slp file: the offset of each field, and the version of the format that introduced it.

Source: the Slippi replay file specification (project-slippi/slippi-wiki, SPEC.md), checked against real files of
versions 1.0 to 3.19. All numbers are big-endian; offsets count from the command byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

EVENT_PAYLOADS: Final = 0x35
GAME_START: Final = 0x36
PRE_FRAME: Final = 0x37
POST_FRAME: Final = 0x38
GAME_END: Final = 0x39
FRAME_START: Final = 0x3A
ITEM: Final = 0x3B
FRAME_BOOKEND: Final = 0x3C
FOUNTAIN: Final = 0x3F
WHISPY: Final = 0x40
STADIUM: Final = 0x41
MESSAGE_SPLITTER: Final = 0x10

FIRST_FRAME: Final = -123  # frame 0 is GO, when the timer starts
OLDEST: Final = (1, 0, 0)

Version = tuple[int, int, int]


class Field(NamedTuple):
    """One field of an event."""

    name: str
    offset: int
    type: str  # as NumPy names it, without byte order; "5u1" is five bytes
    since: Version = (0, 0, 0)


FRAME_HEAD: Final = (Field("frame", 0x1, "i4"),)
PLAYER_HEAD: Final = (*FRAME_HEAD, Field("port", 0x5, "u1"), Field("follower", 0x6, "u1"))

PRE_FIELDS: Final = (
    Field("random_seed", 0x7, "u4"),
    Field("action", 0xB, "u2"),
    Field("x", 0xD, "f4"),
    Field("y", 0x11, "f4"),
    Field("facing", 0x15, "f4"),
    Field("main_x", 0x19, "f4"),
    Field("main_y", 0x1D, "f4"),
    Field("c_x", 0x21, "f4"),
    Field("c_y", 0x25, "f4"),
    Field("trigger", 0x29, "f4"),
    Field("processed_buttons", 0x2D, "u4"),
    Field("physical_buttons", 0x31, "u2"),
    Field("l_trigger", 0x33, "f4"),
    Field("r_trigger", 0x37, "f4"),
    Field("raw_x", 0x3B, "i1", (1, 2, 0)),
    Field("percent", 0x3C, "f4", (1, 4, 0)),
    Field("raw_y", 0x40, "i1", (3, 15, 0)),
    Field("raw_c_x", 0x41, "i1", (3, 17, 0)),
    Field("raw_c_y", 0x42, "i1", (3, 17, 0)),
)

POST_FIELDS: Final = (
    Field("character", 0x7, "u1"),
    Field("action", 0x8, "u2"),
    Field("x", 0xA, "f4"),
    Field("y", 0xE, "f4"),
    Field("facing", 0x12, "f4"),
    Field("percent", 0x16, "f4"),
    Field("shield", 0x1A, "f4"),
    Field("last_attack_landed", 0x1E, "u1"),
    Field("combo_count", 0x1F, "u1"),
    Field("last_hit_by", 0x20, "u1"),
    Field("stocks", 0x21, "u1"),
    Field("state_age", 0x22, "f4"),
    Field("flags", 0x26, "5u1", (2, 0, 0)),
    Field("misc", 0x2B, "f4", (2, 0, 0)),
    Field("airborne", 0x2F, "u1", (2, 0, 0)),
    Field("ground", 0x30, "u2", (2, 0, 0)),
    Field("jumps_left", 0x32, "u1", (2, 0, 0)),
    Field("l_cancel", 0x33, "u1", (2, 0, 0)),
    Field("hurtbox_state", 0x34, "u1", (2, 1, 0)),
    Field("speed_air_x", 0x35, "f4", (3, 5, 0)),
    Field("speed_y", 0x39, "f4", (3, 5, 0)),
    Field("speed_attack_x", 0x3D, "f4", (3, 5, 0)),
    Field("speed_attack_y", 0x41, "f4", (3, 5, 0)),
    Field("speed_ground_x", 0x45, "f4", (3, 5, 0)),
    Field("hitlag", 0x49, "f4", (3, 8, 0)),
    Field("animation", 0x4D, "u4", (3, 11, 0)),
    Field("instance_hit_by", 0x51, "u2", (3, 16, 0)),
    Field("instance", 0x53, "u2", (3, 16, 0)),
)

ITEM_FIELDS: Final = (
    Field("type", 0x5, "u2", (3, 0, 0)),
    Field("state", 0x7, "u1", (3, 0, 0)),
    Field("facing", 0x8, "f4", (3, 0, 0)),
    Field("vx", 0xC, "f4", (3, 0, 0)),
    Field("vy", 0x10, "f4", (3, 0, 0)),
    Field("x", 0x14, "f4", (3, 0, 0)),
    Field("y", 0x18, "f4", (3, 0, 0)),
    Field("damage", 0x1C, "u2", (3, 0, 0)),
    Field("timer", 0x1E, "f4", (3, 0, 0)),
    Field("spawn_id", 0x22, "u4", (3, 0, 0)),
    Field("misc", 0x26, "4u1", (3, 2, 0)),
    Field("owner", 0x2A, "i1", (3, 6, 0)),
    Field("instance", 0x2B, "u2", (3, 16, 0)),
)

START_FIELDS: Final = (
    Field("random_seed", 0x5, "u4", (2, 2, 0)),
    Field("scene_frame", 0x9, "u4", (3, 10, 0)),
)
BOOKEND_FIELDS: Final = (Field("finalized_frame", 0x5, "i4", (3, 7, 0)),)
TIMING_FIELDS: Final = (*START_FIELDS, *BOOKEND_FIELDS)
FOUNTAIN_FIELDS: Final = (Field("platform", 0x5, "u1"), Field("height", 0x6, "f4"))
WHISPY_FIELDS: Final = (Field("direction", 0x5, "u1"),)
STADIUM_FIELDS: Final = (Field("event", 0x5, "u2"), Field("type", 0x7, "u2"))
END_FIELDS: Final = (
    Field("method", 0x1, "u1"),
    Field("lras_initiator", 0x2, "i1", (2, 0, 0)),
    Field("placements", 0x3, "4i1", (3, 13, 0)),
)
EVENTS: Final[dict[int, Sequence[Field]]] = {
    PRE_FRAME: PRE_FIELDS,
    POST_FRAME: POST_FIELDS,
    FRAME_START: START_FIELDS,
    ITEM: ITEM_FIELDS,
    FRAME_BOOKEND: BOOKEND_FIELDS,
    FOUNTAIN: FOUNTAIN_FIELDS,
    WHISPY: WHISPY_FIELDS,
    STADIUM: STADIUM_FIELDS,
}
"""Fields of the events of a frame, without frame number and port."""
RIGHT_PLATFORM, LEFT_PLATFORM = 0, 1  # of the Fountain, as its event numbers them


def size_of(fields: Sequence[Field], version: Version) -> int:
    """Bytes behind the command byte of an event of this version."""
    return max((f.offset + np.dtype(f.type).itemsize for f in fields if f.since <= version), default=5) - 1


def recorded(fields: Sequence[Field], version: Version, size: int) -> tuple[Field, ...]:
    """Fields recorded by a file of this version whose events have ``size`` bytes after the command byte."""
    return tuple(f for f in fields if f.since <= version and f.offset + np.dtype(f.type).itemsize <= size + 1)


def packed(fields: Sequence[Field], size: int) -> np.dtype[np.void]:
    """Type of one whole event of ``size`` bytes after the command byte."""
    return np.dtype(
        {
            "names": [f.name for f in fields],
            "formats": [f">{f.type}" if f.type[0].isalpha() else f.type for f in fields],
            "offsets": [f.offset for f in fields],
            "itemsize": size + 1,
        }
    )


def native(fields: Sequence[Field]) -> np.dtype[np.void]:
    """Type of columns: floats as recorded, integers signed and wide enough for -1 "absent"."""
    wider = {"u1": "i2", "5u1": "5i2", "4u1": "4i2", "i1": "i2", "u2": "i4", "i4": "i8", "u4": "i8", "f4": "f4"}
    return np.dtype([(f.name, wider[f.type]) for f in fields])
