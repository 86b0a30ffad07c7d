"""Layout of the tables that the compiled rules read."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MAX_SURFACES: Final = 8
MAX_OUTLINE: Final = 12
MAX_FLOOR: Final = 6
MAX_MOVERS: Final = 2
NUM_IDS: Final = 64  # internal character and stage ids are below this

ATTACK_HIT, GRAB_HIT, THROW_HIT, LASER_HIT = 0, 1, 2, 3
FALL, PATH, FLIGHT, FREE = 0, 1, 2, 3  # how speeds go in the air during a special action
PRESSED, HELD = 1, 2  # B during a special action that makes it repeat
CHARGING = 3  # it repeats until a press of B cuts it, or one of a trigger cancels it at its end
HELPLESS = -1  # what follows a special action: a helpless fall
FREE_FALL = -2  # or a fall in which the player may act
ALWAYS, AFTERWARDS = 1, 2  # when the stick moves the player sideways during a special action
AFRESH = -1  # the action after a landing begins with its frame 0
STILL, FOUNTAIN, RANDALL, WIND = 0, 1, 2, 3  # what a stage does, see ``physics.platforms`` and ``physics.wind``
EVERYBODY, GROUNDED, AIRBORNE = 0, 1, 2  # which victims a hit can touch
OWN_MOVES: Final[tuple[str, ...]] = (
    *("none", "shadow_ball", "confusion", "disable"),
    *("chain", "transform", "fireball", "tornado"),
    *("rollout", "sing", "hammer", "stone", "inhale", "cutter"),
    *("headbutt", "spinning_kong", "jolt", "skull_bash", "thunder"),
)  # special moves with rules of their own, a file each in ``physics.moves``
_NONE, SHADOW_BALL, CONFUSION, DISABLE, CHAIN, TRANSFORM, FIREBALL, TORNADO = range(8)
ROLLOUT, SING, HAMMER, STONE, INHALE, CUTTER, HEADBUTT, SPINNING_KONG, JOLT, SKULL_BASH, THUNDER = range(8, 19)

# Attributes of a character: speeds in units a frame, accelerations in units a frame a frame, times in frames.
ATTRIBUTES: Final[tuple[str, ...]] = (
    *("weight", "gravity", "fall_speed", "fast_fall_speed"),
    *("walk_start", "walk_acceleration", "walk_max", "traction"),
    *("dash_start", "dash_acceleration", "dash_acceleration_stick", "dash_to_run", "dash_frames"),
    *("run_max", "run_brake_frames", "run_turn_frames", "run_turn_break", "turn_flip", "turn_frames"),
    *("squat_frames", "squat_rise_frames"),
    *("jump_squat", "full_hop", "short_hop", "ground_to_air", "jump_start_x", "jump_max_x"),
    *("air_jumps", "double_jump_y", "double_jump_x"),
    *("air_acceleration", "air_acceleration_stick", "air_max", "air_friction", "landing_lag", "wavedash_reach"),
    *("shield_radius", "shield_x", "shield_y", "shield_tilt"),
    *("hurt_height", "hurt_radius", "push_width", "grab_hold_x"),
    *("ledge_reach_x", "ledge_reach_low", "ledge_reach_high", "hang_x", "hang_y", "ledge_jump_y", "ledge_jump_x"),
    *("air_jump_action", "air_jump_loss", "air_jump_keeps", "guard_on_frames"),
    *("neutral_ground", "neutral_air", "side_ground", "side_air", "up_ground", "up_air", "down_ground", "down_air"),
)
ATTRIBUTE_DEFAULTS: Final = {"air_jump_keeps": 0.0, "guard_on_frames": 8.0}
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
        ("whole_lag", "i4"),  # 1: an L-cancel does not halve the lag
        ("intangible_from", "i4"),
        ("intangible_to", "i4"),
        ("loop", "i4"),  # frames after which the animation begins again, 0: it does not
        ("turns", "i4"),  # frame on which the animation turns the player around
        ("by_weight", "i4"),  # 1: a throw that is slower the heavier its victim is: 100 / weight frames a frame
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
        ("electric", "i4"),  # 1: the victim's hitlag is half as long again
        ("targets", "i4"),  # EVERYBODY, GROUNDED or AIRBORNE
        ("speed_x", "f8"),  # of a laser, forward
        ("speed_y", "f8"),
        ("life", "f8"),  # of a laser, frames
        ("tip", "f8"),  # units behind the place of a laser at which its first circle is, fully grown
        ("tail", "f8"),  # and its last one
        ("grows", "f8"),  # units that it flies until then
        ("item_type", "i4"),  # type of a laser in replay files, 0 unknown
        ("stored", "i4"),  # 1: a shot that must have been stored, see ``SPECIAL``
        ("own", "i4"),  # the move whose rules a hit or a shot follows, an index into OWN_MOVES; 0: the ordinary ones
    ],
    align=True,
)

# How one special action of one character goes on. Speeds in units a frame, frames as in ``ACTION``; a friction,
# gravity or falling speed below 0 is the character's own.
SPECIAL: Final = np.dtype(
    [
        ("own", "i4"),  # the move whose rules are called, too, an index into OWN_MOVES
        ("drive", "i4"),  # FALL, PATH, FLIGHT or FREE
        ("starts", "i4"),  # 1: a move begins with this action
        ("first", "i4"),  # frame that it shows first when it follows another
        ("frozen", "i4"),  # frames for which it stays on that frame, 0: it runs on
        ("next_ground", "i4"),  # the action that follows on the ground, 0 none
        ("next_air", "i4"),  # in the air; HELPLESS
        ("lands_as", "i4"),  # the action that goes on from this frame on after landing, 0: the move ends
        ("lands_frame", "i4"),  # the frame that it then shows first, 0: it goes on from this one, AFRESH
        ("leaves_as", "i4"),  # after leaving the ground, HELPLESS, FREE_FALL; 0: an edge stops the player
        ("leaves_from", "i4"),  # first frame that leaves the ground, an edge stops those before
        ("touch_as", "i4"),  # the action that starts as a circle of it meets a body or a shield, which it does not hurt
        ("passes_as", "i4"),  # after the stick let the player through a platform, 0: it cannot
        ("slides", "i4"),  # 1: it goes on along a floor that it meets
        ("spends_jumps", "i4"),  # 1: to be in it in the air, or to leave the ground in it, takes all jumps
        ("repeats", "i4"),  # PRESSED, HELD or CHARGING
        ("press_from", "i4"),  # first frame on which a press counts: B for PRESSED, A or B for a combo
        ("press_to", "i4"),  # last frame on which it leads to a combo, 0: the last one
        ("combo_up", "i4"),  # the action that a press starts with the stick up, 0 none
        ("combo_side", "i4"),
        ("combo_down", "i4"),
        ("least", "i4"),  # frames for which it goes on although B was let go, all parts that have it together
        ("cancels_as", "i4"),  # the action that a press of a trigger starts, 0 none
        ("stores", "i4"),  # 1: each repetition stores a shot more
        ("once", "i4"),  # 1: ``start_y`` counts once before a landing
        ("cut", "i4"),  # 1: B starts the action that follows at once
        ("turns_as", "i4"),  # the action that starts as the stick points back, which turns the player; 0 none
        ("jump_from", "i4"),  # first frame that a jump ends, 0 none, -1 all
        ("grabs_from", "i4"),  # first frame that takes a ledge, 0 none, 1 all
        ("reflects", "i4"),  # the action that shows that it sent a laser back, 1: it sends it back in this one
        ("fast_falls", "i4"),  # 1: a flick down starts a fast fall
        ("drifts", "i4"),  # the stick moves the player sideways: ALWAYS, or AFTERWARDS: after a path or ``decay``
        ("glide", "i4"),  # last frame without gravity, or of a flight at full speed
        ("path_from", "i4"),  # first frame on which the animation says how the player moves; before it falls
        ("aim_frame", "i4"),  # frame on which the stick gives the direction, 0: a flight's first, else none
        ("lean_to", "i4"),  # last frame on which the stick can lean the path of the animation
        ("rise_frame", "i4"),  # frame on which, in the air, ``start_y`` becomes the speed, 0: it is added at the start
        ("rise_to", "i4"),  # last frame with the row's gravity; after it, and before the rise, the character's own
        ("turn_frame", "i4"),  # frame on which the stick can turn the player around
        ("decay_to", "i4"),  # last frame with ``decay``
        ("again_frame", "i4"),  # frame on which the stick can start a flight once more, 0 none
        ("again_as", "i4"),  # the action after which that flight comes
        ("mirror_y", "f8"),  # height of the circle that sends lasers back
        ("mirror_radius", "f8"),
        ("reach", "f8"),  # units beyond its edge from which it takes a ledge, 0: the character's
        ("lands_hard", "i4"),  # 1: that fall ends with its lag however slow it is
        ("landing_lag", "f8"),  # of landing in this action or in the helpless fall after it, 0: a plain landing
        ("drift_gain", "f8"),  # share of the stick's acceleration while it ``drifts``, below 0: as ``drift_top``
        ("drift_top", "f8"),  # share of the character's top drift while it ``drifts``, below 0: ``fall_drift``
        ("fall_drift", "f8"),  # share of the character's top drift in that fall
        ("gravity", "f8"),
        ("fall_speed", "f8"),
        ("friction", "f8"),
        ("keep_x", "f8"),  # share of the speed that is kept at the start, in the air
        ("keep_y", "f8"),
        ("start_x", "f8"),  # and what is added
        ("start_y", "f8"),
        ("aim_speed", "f8"),  # along the direction
        ("aim_stick", "f8"),  # and added for the stick at the rim
        ("aim_spread", "f8"),  # degrees that the stick turns it from straight forward; 0: any direction
        ("lean", "f8"),  # degrees that the stick at the rim leans a path
        ("lean_from", "f8"),  # of the stick, from which on it leans
        ("slowed", "f8"),  # share of the speed of the animation that is left after a hit, 0: all
        ("early_gravity", "f8"),  # before the animation moves the player
        ("slowing", "f8"),  # of a flight, a frame
        ("decay", "f8"),  # share of the speed that is kept each frame, 0: all
        ("top_x", "f8"),  # highest speed sideways after the decay or an edge, 0: any
        ("again_stick", "f8"),  # how far the stick must be pushed for the second flight
        ("again_turn", "f8"),  # degrees by which it must point away from the first
        ("again_speed", "f8"),  # share of the first one's speed
    ],
    align=True,
)
SPECIAL_DEFAULTS: Final = {
    "drift_gain": -1.0,
    "drift_top": -1.0,
    "fall_drift": 1.0,
    "lean_from": 0.5,
    "gravity": -1.0,
    "fall_speed": -1.0,
    "friction": -1.0,
    "keep_x": 1.0,
    "keep_y": 1.0,
    "press_from": -1,
    "glide": -1,
    "early_gravity": -1.0,
}

STAGE: Final = np.dtype(
    [
        ("id", "i4"),
        ("num_surfaces", "i4"),
        ("num_outline", "i4"),
        ("num_floor", "i4"),  # points of the main floor; 2: flat
        ("num_movers", "i4"),  # the last so many surfaces move
        ("movement", "i4"),  # STILL, FOUNTAIN, RANDALL or WIND
        ("surface_mover", "i4", (MAX_SURFACES,)),  # which of the movers a surface is, -1 none
        ("surface_y", "f8", (MAX_SURFACES,)),  # surface 0 is the main floor, the others are platforms
        ("surface_left", "f8", (MAX_SURFACES,)),
        ("surface_right", "f8", (MAX_SURFACES,)),
        ("floor_x", "f8", (MAX_FLOOR,)),  # the main floor from left to right
        ("floor_y", "f8", (MAX_FLOOR,)),
        ("ledge_y", "f8"),  # height of both ledges: the ends of the floor
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


HULL_FRAMES: Final = 64  # of an action, from which on the height of the hull stays the same


class Tables(np.record):  # type: ignore[misc] # of its stubs
    """All tables: one record whose fields are arrays.

    A compiled function takes the address of a record as one argument. A tuple of arrays would be copied on every call,
    about 100 words; that took more time than the rules themselves.

    Fields:
        characters: CHARACTER [C]
        actions: ACTION [C, NUM_ACTIONS]
        specials: SPECIAL [C, NUM_SPECIALS], from action FIRST_SPECIAL on
        hits: HIT [H]
        hull: float64 [C, NUM_ACTIONS, HULL_FRAMES] units from the feet up to the hull's bottom, in the air
        poses: int32 [C, NUM_ACTIONS, HULL_FRAMES] which of the poses below the body has
        capsules: float64 [POSES, CAPSULES, 5] two points forward and up, radius; shares of ``hurt_height``
        bounds: float64 [POSES, 4] left, bottom, right and top of a pose
        points: float64 [N, 2] hit circle centres and motions, x forward, y up
        stages: STAGE [S]
        blank: MEMORY [1] of a player at the start of a game; as a constant of the rules it would lose its padding bytes
        character_rows: int32 [NUM_IDS] row of an internal character id, -1 none
        stage_rows: int32 [NUM_IDS] row of a stage id, -1 none
    """

    @property
    def data(self) -> memoryview:
        """The bytes, from which Numba takes the address.

        NumPy's own property describes all fields on every call, which takes longer than a frame of a game. It cannot be
        cached: the memoryview refers to the record, so the record would refer to itself and never be freed.
        """
        base = self.base
        if base is not None and base.nbytes == self.nbytes:
            return base.view(np.uint8).data
        return super().data  # of a row of a field, whose type is this one, too


@cache  # one object a layout, see ``records``
def _layout(dtype: np.dtype[np.void]) -> np.dtype[np.void]:
    return np.dtype((Tables, dtype))


def as_tables(**arrays: NDArray[Any]) -> Tables:
    """Read-only tables with these arrays as fields."""
    dtype = np.dtype([(name, array.dtype, array.shape) for name, array in arrays.items()], align=True)
    alone = np.zeros(1, _layout(dtype))
    for name, array in arrays.items():
        alone[name][0] = array
    alone.flags.writeable = False
    tables: Tables = alone[0]
    return tables


def with_arrays(tables: Tables, **arrays: NDArray[Any]) -> Tables:
    """A copy of ``tables`` in which some fields are other arrays."""
    own: dict[str, NDArray[Any]] = {name: tables[name] for name in tables.dtype.names or ()}
    return as_tables(**own | arrays)
