"""Layout of the tables that the compiled rules read."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_SURFACES: Final = 8
MAX_OUTLINE: Final = 8
NUM_IDS: Final = 64  # internal character and stage ids are below this

ATTACK_HIT, GRAB_HIT, THROW_HIT = 0, 1, 2

# Attributes of a character: speeds in units a frame, accelerations in units a frame a frame, times in frames.
ATTRIBUTES: Final[tuple[str, ...]] = (
    "weight",
    "gravity",
    "fall_speed",
    "fast_fall_speed",
    "walk_start",
    "walk_acceleration",
    "walk_max",
    "traction",
    "dash_start",
    "dash_acceleration",
    "dash_to_run",
    "dash_frames",
    "run_max",
    "run_brake_frames",
    "run_turn_frames",
    "turn_frames",
    "squat_frames",
    "squat_rise_frames",
    "jump_squat",
    "full_hop",
    "short_hop",
    "ground_to_air",
    "jump_start_x",
    "jump_max_x",
    "double_jump_y",
    "double_jump_x",
    "air_acceleration",
    "air_acceleration_stick",
    "air_max",
    "air_friction",
    "landing_lag",
    "shield_radius",
    "shield_y",
    "hurt_height",
    "hurt_radius",
    "push_width",
    "grab_hold_x",
    "ledge_reach_x",
    "ledge_reach_low",
    "ledge_reach_high",
    "hang_x",
    "hang_y",
    "ledge_jump_y",
    "ledge_jump_x",
    "up_ground_action",
    "up_air_action",
    "up_flight_action",
    "up_end_action",
    "up_start",
    "up_start_keep",
    "up_start_gravity",
    "up_travel",
    "up_speed",
    "up_slowdown",
    "up_end",
    "up_end_speed",
    "up_landing_lag",
)
CHARACTER: Final = np.dtype([("id", "i4"), *((name, "f8") for name in ATTRIBUTES)], align=True)

# One action of one character. Frames count from 1; 0 means "none".
ACTION: Final = np.dtype(
    [
        ("frames", "i4"),  # the last frame of the action
        ("iasa", "i4"),  # first frame on which another action may start
        ("charge", "i4"),  # frame on which a smash attack waits while A is held
        ("landing_lag", "i4"),
        ("autocancel_before", "i4"),  # landing before this frame has only normal landing lag
        ("autocancel_after", "i4"),  # landing after this frame too
        ("intangible_from", "i4"),
        ("intangible_to", "i4"),
        ("first_hit", "i4"),
        ("num_hits", "i4"),
        ("first_motion", "i4"),
        ("num_motion", "i4"),  # frames for which the animation itself moves the player
    ],
    align=True,
)

# One hit circle over consecutive frames, or one throw.
HIT: Final = np.dtype(
    [
        ("start", "i4"),
        ("end", "i4"),
        ("kind", "i4"),  # ATTACK_HIT, GRAB_HIT or THROW_HIT
        ("group", "i4"),  # hits of one group connect once
        ("first_point", "i4"),  # of (x, y) a frame in ``Tables.points``
        ("radius", "f8"),
        ("damage", "f8"),
        ("angle", "f8"),  # degrees, 361 is the Sakurai angle
        ("kb_growth", "f8"),
        ("kb_base", "f8"),
        ("kb_fixed", "f8"),  # set ("weight dependent") knockback, 0 none
        ("shield_damage", "f8"),  # extra damage to shields
    ],
    align=True,
)

STAGE: Final = np.dtype(
    [
        ("id", "i4"),
        ("num_surfaces", "i4"),
        ("num_outline", "i4"),
        ("surface_y", "f8", (MAX_SURFACES,)),  # surface 0 is the main floor, the others are platforms
        ("surface_left", "f8", (MAX_SURFACES,)),
        ("surface_right", "f8", (MAX_SURFACES,)),
        ("outline_y", "f8", (MAX_OUTLINE,)),  # the solid body, from the floor downwards
        ("outline_x", "f8", (MAX_OUTLINE,)),  # half of its width at that height
        ("blast_left", "f8"),
        ("blast_right", "f8"),
        ("blast_top", "f8"),
        ("blast_bottom", "f8"),
        ("spawn_x", "f8"),
        ("spawn_y", "f8"),
        ("respawn_x", "f8"),
        ("respawn_y", "f8"),
    ],
    align=True,
)


class Tables(NamedTuple):
    """All figures, as arrays that compiled functions take."""

    characters: NDArray[np.void]  # CHARACTER [C]
    actions: NDArray[np.void]  # ACTION [C, NUM_ACTIONS]
    hits: NDArray[np.void]  # HIT [H]
    points: NDArray[np.float64]  # [N, 2] hit circle centres and motions, x forward, y up
    stages: NDArray[np.void]  # STAGE [S]
    character_rows: NDArray[np.int32]  # [NUM_IDS] row of an internal character id, -1 none
    stage_rows: NDArray[np.int32]  # [NUM_IDS] row of a stage id, -1 none
