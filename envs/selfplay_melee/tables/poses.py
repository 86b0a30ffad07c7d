"""The parts of each character's body that attacks can hit, by action and frame, from ``poses.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import actions as a
from selfplay_melee.tables.layout import HULL_FRAMES
from selfplay_melee.tables.row import Row, open_table

CAPSULES: Final = 13  # of a pose; one with fewer repeats its last
FILE: Final = Path(__file__).with_name("poses.toml")
OTHERS: Final = "marth"  # the body of characters that no body lists
# Groups of actions with one pose: first and last action, and the frame from which on it is held.
GROUPS: Final[dict[str, tuple[int, int, int]]] = {
    "walk": (a.WALK_SLOW, a.WALK_FAST, 0),
    "turn": (a.TURN, a.TURN_RUN, 0),
    "dash": (a.DASH, a.DASH, 0),
    "run": (a.RUN, a.RUN_BRAKE, 0),
    "jump_squat": (a.JUMP_SQUAT, a.JUMP_SQUAT, 0),
    "jump": (a.JUMP_F, a.JUMP_B, 0),
    "jump_flip": (a.JUMP_F, a.JUMP_B, 20),
    "jump_end": (a.JUMP_F, a.JUMP_B, 35),
    "double_jump": (a.JUMP_AERIAL_F, a.JUMP_AERIAL_B, 0),
    "fall": (a.FALL, a.FALL_AERIAL_B, 0),
    "special_fall": (a.FALL_SPECIAL, a.FALL_SPECIAL_B, 0),
    "tumble": (a.DAMAGE_FALL, a.DAMAGE_FALL, 0),
    "crouch": (a.SQUAT, a.SQUAT_RISE, 0),
    "landing": (a.LANDING, a.LANDING_FALL_SPECIAL, 0),
    "jab": (a.JAB_1, a.RAPID_JAB_END, 0),
    "dash_attack": (a.DASH_ATTACK, a.DASH_ATTACK, 0),
    "ftilt": (a.FTILT_HIGH, a.FTILT_LOW, 0),
    "utilt": (a.UTILT, a.UTILT, 0),
    "dtilt": (a.DTILT, a.DTILT, 0),
    "fsmash": (a.FSMASH_HIGH, a.FSMASH_LOW, 0),
    "usmash": (a.USMASH, a.USMASH, 0),
    "dsmash": (a.DSMASH, a.DSMASH, 0),
    "nair": (a.NAIR, a.NAIR, 0),
    "fair": (a.FAIR, a.FAIR, 0),
    "bair": (a.BAIR, a.BAIR, 0),
    "uair": (a.UAIR, a.UAIR, 0),
    "dair": (a.DAIR, a.DAIR, 0),
    "air_landing": (a.LANDING_NAIR, a.LANDING_DAIR, 0),
    "hurt_ground": (a.DAMAGE_HIGH_1, a.DAMAGE_LOW_3, 0),
    "hurt_air": (a.DAMAGE_AIR_1, a.DAMAGE_AIR_3, 0),
    "fly": (a.DAMAGE_FLY_HIGH, a.DAMAGE_FLY_LOW, 0),
    "fly_late": (a.DAMAGE_FLY_HIGH, a.DAMAGE_FLY_LOW, 20),
    "fly_top": (a.DAMAGE_FLY_TOP, a.DAMAGE_FLY_TOP, 0),
    "fly_roll": (a.DAMAGE_FLY_ROLL, a.DAMAGE_FLY_ROLL, 0),
    "guard": (a.GUARD_ON, a.GUARD_REFLECT, 0),
    "down_up": (a.DOWN_BOUND_UP, a.DOWN_DAMAGE_UP, 0),
    "getup_up": (a.DOWN_STAND_UP, a.DOWN_ROLL_B_UP, 0),
    "down": (a.DOWN_BOUND, a.DOWN_DAMAGE, 0),
    "getup": (a.DOWN_STAND, a.DOWN_ROLL_B, 0),
    "tech": (a.TECH, a.TECH_B, 0),
    "grab": (a.CATCH, a.CATCH_CUT, 0),
    "throw": (a.THROW_F, a.THROW_D, 0),
    "roll": (a.ROLL_F, a.SPOT_DODGE, 0),
    "air_dodge": (a.AIR_DODGE, a.AIR_DODGE, 0),
    "drop": (a.PLATFORM_DROP, a.PLATFORM_DROP, 0),
    "ledge": (a.CLIFF_CATCH, a.CLIFF_JUMP_QUICK_2, 0),
    "special": (a.FIRST_SPECIAL, a.NUM_ACTIONS - 1, 0),
}


class Poses(NamedTuple):
    """All poses, as shares of the height of a standing player."""

    capsules: NDArray[np.float64]  # [POSES, CAPSULES, 5]: x, y, x, y of two points, forward and up; radius
    bounds: NDArray[np.float64]  # [POSES, 4] left, bottom, right, top
    of_body: dict[str, NDArray[np.int32]]  # [NUM_ACTIONS, HULL_FRAMES] pose of each frame of each action
    bodies: dict[str, str]  # by name of a character, if it has not the body ``OTHERS``


@cache
def read_poses(path: Path = FILE) -> Poses:
    """Read and check a table of poses.

    Raises:
        TableError: the file is inconsistent; the message names the table and the field.
    """
    top = open_table(path)
    top.sources()
    listed, bodies = top.table("poses"), top.table("bodies")
    top.done()
    capsules = {name: _capsules(listed.table(name)) for name in list(listed.left)}
    numbers = {name: number for number, name in enumerate(capsules)}
    of_body: dict[str, NDArray[np.int32]] = {}
    owners: dict[str, str] = {}
    for body in list(bodies.left):
        row = bodies.table(body)
        owners |= dict.fromkeys(_names(row), body)
        of_body[body] = _poses_of(row, numbers)
    if OTHERS not in of_body:
        raise bodies.fail(OTHERS, "is missing")
    stacked = np.stack(list(capsules.values()))
    return Poses(stacked, _bounds(stacked), of_body, owners)


def _capsules(row: Row) -> NDArray[np.float64]:
    capsules = row.points("capsules", width=5)
    row.done()
    if not 1 <= len(capsules) <= CAPSULES:
        raise row.fail("capsules", f"has {len(capsules)} entries, valid are 1 to {CAPSULES}")
    return np.array(capsules + capsules[-1:] * (CAPSULES - len(capsules)))


def _names(row: Row) -> list[str]:
    names = row.take("characters")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise row.fail("characters", "must be a list of names")
    return names


def _poses_of(row: Row, numbers: dict[str, int]) -> NDArray[np.int32]:
    default = row.choice("default", numbers, "")
    poses = np.full((a.NUM_ACTIONS, HULL_FRAMES), numbers[default], np.int32)
    for group, (first, last, start) in GROUPS.items():
        poses[first : last + 1, start:] = numbers[row.choice(group, numbers, default)]
    row.done()
    return poses


def _bounds(capsules: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, radius = capsules[:, :, 0:3:2], capsules[:, :, 1:4:2], capsules[:, :, 4:]
    low = [(points - radius).min((1, 2)) for points in (x, y)]
    high = [(points + radius).max((1, 2)) for points in (x, y)]
    return np.stack([*low, *high], 1)
