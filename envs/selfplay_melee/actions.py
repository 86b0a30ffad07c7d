"""Melee's action states by number, and the groups that the observation encoder tells apart.

The numbers are the game's own (as in replay files and memory). States below 341 are common to all characters;
from 341 on each character has its own special moves, so that one number means different moves.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

NUM_ACTIONS: Final = 400  # character-specific states end below this

DEAD_DOWN, DEAD_LEFT, DEAD_RIGHT, DEAD_UP, DEAD_UP_STAR = 0, 1, 2, 3, 4
REBIRTH, REBIRTH_WAIT = 12, 13
WAIT = 14
WALK_SLOW, WALK_MIDDLE, WALK_FAST = 15, 16, 17
TURN, TURN_RUN = 18, 19
DASH, RUN, RUN_DIRECT, RUN_BRAKE = 20, 21, 22, 23
JUMP_SQUAT = 24
JUMP_F, JUMP_B = 25, 26
JUMP_AERIAL_F, JUMP_AERIAL_B = 27, 28
FALL, FALL_F, FALL_B = 29, 30, 31
FALL_AERIAL, FALL_AERIAL_F, FALL_AERIAL_B = 32, 33, 34
FALL_SPECIAL, FALL_SPECIAL_F, FALL_SPECIAL_B = 35, 36, 37
DAMAGE_FALL = 38
SQUAT, SQUAT_WAIT, SQUAT_RISE = 39, 40, 41
LANDING, LANDING_FALL_SPECIAL = 42, 43
JAB_1, JAB_2, JAB_3 = 44, 45, 46
RAPID_JAB_START, RAPID_JAB_LOOP, RAPID_JAB_END = 47, 48, 49
DASH_ATTACK = 50
FTILT_HIGH, FTILT_HIGH_MID, FTILT, FTILT_LOW_MID, FTILT_LOW = 51, 52, 53, 54, 55
UTILT, DTILT = 56, 57
FSMASH_HIGH, FSMASH_HIGH_MID, FSMASH, FSMASH_LOW_MID, FSMASH_LOW = 58, 59, 60, 61, 62
USMASH, DSMASH = 63, 64
NAIR, FAIR, BAIR, UAIR, DAIR = 65, 66, 67, 68, 69
LANDING_NAIR, LANDING_FAIR, LANDING_BAIR, LANDING_UAIR, LANDING_DAIR = 70, 71, 72, 73, 74
DAMAGE_HIGH_1, DAMAGE_HIGH_2, DAMAGE_HIGH_3 = 75, 76, 77
DAMAGE_MID_1, DAMAGE_MID_2, DAMAGE_MID_3 = 78, 79, 80
DAMAGE_LOW_1, DAMAGE_LOW_2, DAMAGE_LOW_3 = 81, 82, 83
DAMAGE_AIR_1, DAMAGE_AIR_2, DAMAGE_AIR_3 = 84, 85, 86
DAMAGE_FLY_HIGH, DAMAGE_FLY_MID, DAMAGE_FLY_LOW, DAMAGE_FLY_TOP, DAMAGE_FLY_ROLL = 87, 88, 89, 90, 91
GUARD_ON, GUARD, GUARD_OFF, GUARD_STUN, GUARD_REFLECT = 178, 179, 180, 181, 182
DOWN_BOUND_UP, DOWN_WAIT_UP, DOWN_DAMAGE_UP, DOWN_STAND_UP, DOWN_ATTACK_UP = 183, 184, 185, 186, 187
DOWN_ROLL_F_UP, DOWN_ROLL_B_UP = 188, 189
DOWN_BOUND, DOWN_WAIT, DOWN_DAMAGE, DOWN_STAND, DOWN_ATTACK = 191, 192, 193, 194, 195
DOWN_ROLL_F, DOWN_ROLL_B = 196, 197
TECH, TECH_F, TECH_B = 199, 200, 201
WALL_TECH, WALL_TECH_JUMP, CEILING_TECH = 202, 203, 204
SHIELD_BREAK_FLY, SHIELD_BREAK_FALL = 205, 206
SHIELD_BREAK_DOWN_UP, SHIELD_BREAK_DOWN, SHIELD_BREAK_STAND_UP, SHIELD_BREAK_STAND = 207, 208, 209, 210
DIZZY = 211
CATCH, CATCH_PULL, CATCH_DASH, CATCH_DASH_PULL, CATCH_WAIT, CATCH_ATTACK, CATCH_CUT = range(212, 219)
THROW_F, THROW_B, THROW_U, THROW_D = 219, 220, 221, 222
CAPTURE_PULLED_HIGH, CAPTURE_WAIT_HIGH, CAPTURE_DAMAGE_HIGH = 223, 224, 225
CAPTURE_PULLED, CAPTURE_WAIT, CAPTURE_DAMAGE, CAPTURE_CUT, CAPTURE_JUMP = 226, 227, 228, 229, 230
ROLL_F, ROLL_B, SPOT_DODGE, AIR_DODGE = 233, 234, 235, 236
REBOUND_STOP, REBOUND = 237, 238
THROWN_F, THROWN_B, THROWN_U, THROWN_D = 239, 240, 241, 242
PLATFORM_DROP = 244
TEETER, TEETER_WAIT = 245, 246
SLIDE_OFF = 251
CLIFF_CATCH, CLIFF_WAIT = 252, 253
CLIFF_CLIMB_SLOW, CLIFF_CLIMB_QUICK = 254, 255
CLIFF_ATTACK_SLOW, CLIFF_ATTACK_QUICK = 256, 257
CLIFF_ROLL_SLOW, CLIFF_ROLL_QUICK = 258, 259
CLIFF_JUMP_SLOW_1, CLIFF_JUMP_SLOW_2, CLIFF_JUMP_QUICK_1, CLIFF_JUMP_QUICK_2 = 260, 261, 262, 263
TAUNT_RIGHT, TAUNT_LEFT = 264, 265
CAPTURE_KIRBY, CAPTURE_WAIT_KIRBY = 288, 289  # on the way into his mouth, in it
THROWN_STAR, THROWN_COPY_STAR = 290, 291  # spat out, swallowed
BURY, BURY_WAIT, BURY_JUMP = 294, 295, 296  # into the ground, in it, out of it
DAMAGE_SONG, DAMAGE_SONG_WAIT, DAMAGE_SONG_END = 297, 298, 299  # asleep
DAMAGE_BIND = 300  # stunned by Disable
CONFUSED, CONFUSED_AIR = 303, 304  # held by Confusion
ENTRY, ENTRY_START, ENTRY_END = 322, 323, 324
FIRST_SPECIAL: Final = 341  # the lowest character-specific state

# Attacks of a character, by its internal id, that are states of their own in the game but follow the common rules:
# the mock has them as the common ones. Kirby's dash attack, and his jumps in the air with a hat; Ness's bat and yo-yo;
# attacks of Mr. Game & Watch that show an item in his hand.
OWN_STATES: Final[dict[int, dict[int, int]]] = {
    4: {346: 341, 347: 342, 348: 343, 349: 344, 350: 345, 351: DASH_ATTACK},
    8: {341: FSMASH, 342: USMASH, 345: DSMASH},
    24: {
        341: JAB_1, 342: RAPID_JAB_START, 343: RAPID_JAB_LOOP, 344: RAPID_JAB_END, 345: DTILT, 346: FSMASH,
        347: NAIR, 348: BAIR, 349: UAIR, 350: LANDING_NAIR, 351: LANDING_BAIR, 352: LANDING_UAIR,
    },
}  # fmt: skip

CATEGORIES: Final[tuple[str, ...]] = (
    "wait", "walk", "dash", "run", "turn", "jump_squat", "jump", "double_jump", "fall", "fall_special",
    "landing", "landing_lag", "crouch",
    "jab", "dash_attack", "ftilt", "utilt", "dtilt", "fsmash", "usmash", "dsmash",
    "nair", "fair", "bair", "uair", "dair", "special",
    "shield", "shield_stun", "shield_break", "spot_dodge", "roll", "air_dodge",
    "grab", "holding", "throw", "grabbed",
    "hitstun", "tumble", "down", "getup", "tech",
    "ledge_hang", "ledge_action", "dead", "respawn", "taunt", "other",
)  # fmt: skip

# First and last state of each run of one category; what no run names is "other".
_RUNS: Final[tuple[tuple[int, int, str], ...]] = (
    (DEAD_DOWN, 10, "dead"),
    (REBIRTH, REBIRTH_WAIT, "respawn"),
    (WAIT, WAIT, "wait"),
    (WALK_SLOW, WALK_FAST, "walk"),
    (TURN, TURN_RUN, "turn"),
    (DASH, DASH, "dash"),
    (RUN, RUN_BRAKE, "run"),
    (JUMP_SQUAT, JUMP_SQUAT, "jump_squat"),
    (JUMP_F, JUMP_B, "jump"),
    (JUMP_AERIAL_F, JUMP_AERIAL_B, "double_jump"),
    (FALL, FALL_AERIAL_B, "fall"),
    (FALL_SPECIAL, FALL_SPECIAL_B, "fall_special"),
    (DAMAGE_FALL, DAMAGE_FALL, "tumble"),
    (SQUAT, SQUAT_RISE, "crouch"),
    (LANDING, LANDING, "landing"),
    (LANDING_FALL_SPECIAL, LANDING_FALL_SPECIAL, "landing_lag"),
    (JAB_1, RAPID_JAB_END, "jab"),
    (DASH_ATTACK, DASH_ATTACK, "dash_attack"),
    (FTILT_HIGH, FTILT_LOW, "ftilt"),
    (UTILT, UTILT, "utilt"),
    (DTILT, DTILT, "dtilt"),
    (FSMASH_HIGH, FSMASH_LOW, "fsmash"),
    (USMASH, USMASH, "usmash"),
    (DSMASH, DSMASH, "dsmash"),
    (NAIR, NAIR, "nair"),
    (FAIR, FAIR, "fair"),
    (BAIR, BAIR, "bair"),
    (UAIR, UAIR, "uair"),
    (DAIR, DAIR, "dair"),
    (LANDING_NAIR, LANDING_DAIR, "landing_lag"),
    (DAMAGE_HIGH_1, DAMAGE_AIR_3, "hitstun"),
    (DAMAGE_FLY_HIGH, DAMAGE_FLY_ROLL, "tumble"),
    (GUARD_ON, GUARD_OFF, "shield"),
    (GUARD_STUN, GUARD_STUN, "shield_stun"),
    (GUARD_REFLECT, GUARD_REFLECT, "shield"),
    (DOWN_BOUND_UP, DOWN_DAMAGE_UP, "down"),
    (DOWN_STAND_UP, 190, "getup"),
    (DOWN_BOUND, DOWN_DAMAGE, "down"),
    (DOWN_STAND, 198, "getup"),
    (TECH, CEILING_TECH, "tech"),
    (SHIELD_BREAK_FLY, DIZZY, "shield_break"),
    (CATCH, CATCH_DASH_PULL, "grab"),
    (CATCH_WAIT, CATCH_ATTACK, "holding"),
    (CATCH_CUT, CATCH_CUT, "hitstun"),
    (THROW_F, THROW_D, "throw"),
    (CAPTURE_PULLED_HIGH, CAPTURE_DAMAGE, "grabbed"),
    (CAPTURE_CUT, CAPTURE_JUMP, "hitstun"),
    (231, 232, "grabbed"),
    (ROLL_F, ROLL_B, "roll"),
    (SPOT_DODGE, SPOT_DODGE, "spot_dodge"),
    (AIR_DODGE, AIR_DODGE, "air_dodge"),
    (REBOUND_STOP, REBOUND, "hitstun"),
    (THROWN_F, 243, "grabbed"),
    (PLATFORM_DROP, PLATFORM_DROP, "fall"),
    (TEETER, TEETER_WAIT, "wait"),
    (247, 248, "tumble"),
    (SLIDE_OFF, SLIDE_OFF, "hitstun"),
    (CLIFF_CATCH, CLIFF_WAIT, "ledge_hang"),
    (CLIFF_CLIMB_SLOW, CLIFF_JUMP_QUICK_2, "ledge_action"),
    (TAUNT_RIGHT, TAUNT_LEFT, "taunt"),
    (266, 292, "grabbed"),
    (DAMAGE_BIND, DAMAGE_BIND, "hitstun"),
    (301, CONFUSED_AIR, "grabbed"),
    (FIRST_SPECIAL, NUM_ACTIONS - 1, "special"),
)


def _category_table() -> NDArray[np.int8]:
    table = np.full(NUM_ACTIONS, CATEGORIES.index("other"), np.int8)
    for first, last, name in _RUNS:
        table[first : last + 1] = CATEGORIES.index(name)
    table.flags.writeable = False
    return table


def name_common(players: NDArray[np.void]) -> None:
    """Give attacks of ``OWN_STATES`` in PLAYER records their common numbers."""
    for character, states in OWN_STATES.items():
        own = players["character"] == character
        for state, common in states.items():
            players["action"][own & (players["action"] == state)] = common


CATEGORY_OF: Final[NDArray[np.int8]] = _category_table()  # [NUM_ACTIONS] index into CATEGORIES


def categories_of(actions: NDArray[np.integer], unknown: str = "other") -> NDArray[np.int8]:
    """Index into ``CATEGORIES`` of each action, of any shape; actions that the mock does not have are ``unknown``."""
    known = (actions >= 0) & (actions < NUM_ACTIONS)
    return np.where(known, CATEGORY_OF[np.where(known, actions, 0)], np.int8(CATEGORIES.index(unknown)))
