"""Memory of the rules about a player, beyond the fields of a replay file: inputs, timers and counters."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.state import records

MAX_LASERS: Final = 8  # of one player on their way at once
STALE_QUEUE: Final = 9  # moves that the staleness queue remembers

NEVER: Final = 1 << 20  # an age in frames that no window reaches

MEMORY: Final = np.dtype(
    [
        # Rows of the tables, set when a game starts.
        ("character_row", "i4"),
        ("stage_row", "i4"),
        # Inputs of this frame as the game reads them, see ``inputs``.
        ("stick_x", "f8"),
        ("stick_y", "f8"),
        ("stick_x_before", "f8"),  # one frame ago
        ("stick_y_before", "f8"),
        ("pad_x", "f8"),  # the stick before its dead zone
        ("pad_x_before", "f8"),  # one frame ago
        ("pad_x_earlier", "f8"),  # two frames ago
        ("c_x", "f8"),
        ("c_y", "f8"),
        ("c_x_before", "f8"),  # one frame ago
        ("c_y_before", "f8"),
        ("trigger", "f8"),
        ("trigger_before", "f8"),  # one frame ago
        ("held", "i4"),  # button bits that are down
        ("pressed", "i4"),  # button bits that went down on this frame
        ("c_pressed", "i4"),  # the c-stick left its rest on this frame, on either axis
        ("x_age", "i4"),  # frames since the stick left the dead zone on this side, 0 on the first
        ("y_age", "i4"),
        ("side", "i4"),  # -1 or +1: where the stick last left the dead zone sideways
        ("side_age", "i4"),  # frames since then, wherever the stick is now
        ("shoulder_age", "i4"),  # frames since a trigger, if lightly, or Z was pressed, for L-cancels
        ("trigger_age", "i4"),  # frames that the same has been held, 0 on the first
        ("tech_age", "i4"),  # frames since a trigger was pressed, unless it was pressed too often
        ("tech_lock", "i4"),  # frames until a press counts as a tech again
        ("mashed", "i4"),  # a button was pressed one frame ago
        ("mash_x", "i4"),  # side on which the stick last was since a grab, 0 none
        ("mash_y", "i4"),
        # The action that is under way.
        ("duration", "f8"),  # last frame of an action whose length is not in the tables
        ("rate", "f8"),  # frames of the animation that pass in a frame
        ("age", "i4"),  # frames since the action began, hitlag left out
        ("frozen", "i4"),  # hitlag holds the player on this frame
        ("surface", "i4"),  # index of the surface stood on, -1 in the air
        ("short_hop", "i4"),  # jump button was let go during the jump squat
        ("jump_input", "i4"),  # what asked for the jump: BY_BUTTON, BY_STICK or BY_C_STICK
        ("hull", "f8"),  # units from the feet up to the lowest point that meets floors, 0 on the ground
        ("hull_lock", "i4"),  # frames for which that point stays where it is, see ``change.lock_hull``
        ("lean", "f8"),  # of a fall towards its motion, 0 upright to 1
        ("lean_side", "i4"),  # 0 upright, 1 forward, 2 backward
        ("fast_fall", "i4"),
        ("run_lock", "i4"),  # frames for which a run goes on without the stick
        ("dash_turn", "i4"),  # this turn becomes a dash if the stick stays
        ("dash_fresh", "i4"),  # this dash did not come out of a turn
        ("dash_grab", "i4"),  # frames for which a grab out of a dash attack or a shield is a dash grab
        ("drop_in", "i4"),  # frames until a crouch drops through the platform, 0: it does not
        ("guard_lock", "i4"),  # frames before the shield can be lowered
        ("let_go", "i4"),  # the shield was let go
        ("jab_again", "i4"),  # A was pressed again during a jab, or while falling down
        ("charge", "f8"),  # frames that a smash attack was charged
        ("hit_groups", "i4"),  # bits of the hit groups of this action that have already connected
        ("strike_y", "f8"),  # height at which the last hit of this player connected
        ("staled", "i4"),  # this use of a move already entered the staleness queue
        ("landing_lag", "f8"),  # frames of landing lag after the current special fall
        ("fall_drift", "f8"),  # share of the drift that it leaves
        ("lands_hard", "i4"),  # 1: it never ends without that lag, however slowly the player falls
        # Lasers on their way, see ``projectile``.
        ("lasers", "i4"),  # how many
        ("laser_life", "f8", (MAX_LASERS,)),  # frames left, 0: free
        ("laser_x", "f8", (MAX_LASERS,)),
        ("laser_y", "f8", (MAX_LASERS,)),
        ("laser_speed_x", "f8", (MAX_LASERS,)),
        ("laser_speed_y", "f8", (MAX_LASERS,)),
        ("laser_power", "f8", (MAX_LASERS,)),  # factor of its damage
        ("laser_hit", "i4", (MAX_LASERS,)),  # row of the hit
        ("laser_action", "i4", (MAX_LASERS,)),  # action that fired it
        ("special_frames", "i4"),  # of the parts of a special move that last for a least time
        ("stored", "i4"),  # shots that a special move can fire
        ("risen", "i4"),  # bits of the moves that rise once before a landing and did so
        ("b_let_go", "i4"),  # B has been let go since the special move began
        ("air_jumps", "i4"),  # jumps of the character in the air
        ("flown_again", "i4"),  # a special move's second flight has begun
        ("aim_x", "f8"),  # direction of the up special
        ("aim_y", "f8"),
        ("move_count", "i4"),  # frames, or uses, of a move with rules of its own, see ``moves``
        ("move_value", "f8"),  # and how strongly it is charged
        ("path_lean", "f8"),  # degrees to the right of the path of a special move
        # Timers, frames left.
        ("intangible", "f8"),  # intangibility that outlasts an action (ledge, respawn)
        ("ledge_lock", "f8"),  # until a ledge can be grabbed again
        ("held_for", "f8"),  # until a grabbed player is let go
        ("dizzy_for", "f8"),
        ("lie_for", "f8"),  # until a lying player gets up by itself
        ("drop_from", "i4"),  # surface that the platform drop under way passes, -1 none
        ("falls_through", "i4"),  # platforms do not hold the player on this frame
        ("ledge_ready", "i4"),  # the sticks were in the middle since the ledge was grabbed
        ("ledge", "i4"),  # -1 or +1 while on the left or right ledge, else 0
        # How far each platform that moves is from its place in the tables, see ``platforms``; alike for both players.
        ("platform_x", "f8", (2,)),
        ("platform_y", "f8", (2,)),
        ("platform_rise", "f8", (2,)),  # on this frame
        ("wind", "f8"),  # units a frame that the wind of the stage moves a player in it, see ``wind``
        ("push", "f8"),  # units by which the other player pushed this one on this frame, see ``push``
        ("before_x", "f8"),  # where the player was at the start of the frame
        ("before_y", "f8"),
        ("tilt_x", "f8"),  # how far the stick has tilted the shield, -1..1
        ("tilt_y", "f8"),
        ("rival_ledge", "i4"),  # the ledge that the other player held at the start of the frame
        # Hits.
        ("knockback", "f8"),  # of the last hit taken, in Melee's knockback units
        ("since_launch", "i4"),  # frames since the last hit taken, hitlag left out
        ("jump_buffer", "f8"),  # frames of hitstun that were left when a jump was asked for, 0 none
        ("launch", "i4"),  # hitlag will end with a launch
        ("shift_x", "f8"),  # how far the stick moves the player on top as the launch begins
        ("shift_y", "f8"),
        ("recoil", "f8"),  # units a frame that a shield, hit, sends this attacker back
        ("stale", "i4", (STALE_QUEUE,)),  # moves that connected, newest first, see ``stale``
        # Counters of the game, for statistics.
        ("damage_dealt", "f8"),
        ("self_destructs", "i4"),
        ("ledge_grabs", "i4"),
        ("last_hit_by_frames", "i4"),  # frames since the other player last hit this one, large if never in this stock
    ],
    align=True,
)

# At the start of a game, where not 0: no press is buffered, no move is stale.
DEFAULTS: Final = {
    "x_age": NEVER,
    "y_age": NEVER,
    "side_age": NEVER,
    "shoulder_age": NEVER,
    "trigger_age": NEVER,
    "tech_age": NEVER,
    "rate": 1.0,
    "fall_drift": 1.0,
    "drop_from": -1,
    "since_launch": NEVER,
    "stale": -1,
    "last_hit_by_frames": NEVER,
}


def blank_memory() -> NDArray[np.void]:
    """MEMORY [1] of a player at the start of a game."""
    blank = records(MEMORY, 1)
    for name, value in DEFAULTS.items():
        blank[name] = value
    return blank
