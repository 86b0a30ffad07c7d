"""Layout of an observation: its version, its features and their number; loads no compiled rules."""

from __future__ import annotations

from typing import Final

from selfplay_melee.actions import CATEGORIES

ENCODER_VERSION: Final = 2  # of the layout: raise it with every change, policies of another version are refused

BODY: Final = (
    "x", "y", "speed_x", "speed_y", "knockback_x", "knockback_y", "facing", "percent", "shield", "hitlag", "hitstun",
    "action_frame", "busy", "hitting", "stocks", "jumps_left", "on_ground", "invulnerable", "edge_distance",
)  # fmt: skip
TRAITS: Final = ("weight", "gravity", "fall_speed", "run_max", "air_max", "full_hop")
PLAYER: Final = (*BODY, *TRAITS, *(f"is_{name}" for name in CATEGORIES))
_RELATION: Final = ("gap_x", "gap_y", "gap_x_near", "gap_y_near")
PLATFORMS: Final = 3
_STAGE: Final = (
    "edge", "blast_top", "blast_side", "blast_bottom",
    *(f"platform_{i}_{part}" for i in range(PLATFORMS) for part in ("y", "left", "right")),
)  # fmt: skip
_CONTROLLER: Final = ("A", "B", "X", "Y", "Z", "L", "R", "D_UP", "main_x", "main_y", "c_x", "c_y", "shoulder")
PENDING_PARTS: Final = 4  # equal parts of the delay, the earliest first
PENDING: Final = ("A", "B", "jump", "Z", "shield", "main_x", "main_y", "c_x", "c_y")


def feature_names() -> list[str]:
    return [
        *(f"self_{name}" for name in PLAYER),
        *(f"other_{name}" for name in PLAYER),
        *_RELATION,
        *_STAGE,
        *(f"last_{name}" for name in _CONTROLLER),
        *(f"pending_{part}_{name}" for part in range(PENDING_PARTS) for name in PENDING),
    ]


OBS_WIDTH: Final = len(feature_names())
