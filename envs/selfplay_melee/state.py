"""The state of a Melee game, of the mock, Dolphin or a replay file.

Units are Melee's: positions in game units (x to the right, y up), speeds in units a frame, angles in degrees,
time in frames of 1/60 s, percent as the float behind the number on the screen. ``state.players["x"]`` is one
quantity of every player, [B, P]; in compiled rules one player is a record, ``p.x``.

Numbers are 64-bit floats and 32-bit integers, so that rules give equal results compiled and uncompiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

NUM_SEATS = 2
FPS = 60  # frames of a second of game time
STOCKS = 4  # of each player when a game starts

# The fields that replay files and Dolphin also have. Names follow the Slippi specification.
PLAYER = np.dtype(
    [
        ("x", "f8"),
        ("y", "f8"),
        ("speed_air_x", "f8"),  # self-induced, while airborne
        ("speed_ground_x", "f8"),  # self-induced, while on the ground
        ("speed_y", "f8"),  # self-induced
        ("speed_attack_x", "f8"),  # knockback
        ("speed_attack_y", "f8"),
        ("facing", "f8"),  # +1 right, -1 left
        ("percent", "f8"),
        ("shield", "f8"),  # 0..60
        ("hitlag", "f8"),  # frames left
        ("hitstun", "f8"),  # frames left
        ("action_frame", "f8"),  # frame of the action, from 0 as in the replay's state_age
        ("action", "i4"),  # Melee's action state id
        ("character", "i4"),  # Melee's internal character id, not the row of the character table
        ("stocks", "i4"),
        ("jumps_left", "i4"),
        ("on_ground", "i4"),  # 0 or 1
        ("invulnerable", "i4"),  # 0 or 1
    ],
    align=True,
)

# One controller on one frame, before the game applies its dead zones.
CONTROLLER = np.dtype(
    [
        ("main_x", "f8"),  # -1..1
        ("main_y", "f8"),
        ("c_x", "f8"),
        ("c_y", "f8"),
        ("shoulder", "f8"),  # analog trigger, 0..1
        ("buttons", "i4"),  # bit i is button i of controller.BUTTONS
    ],
    align=True,
)

GAME = np.dtype(
    [
        ("frame", "i4"),  # frames played since GO; the timer is 28800 frames
        ("stage", "i4"),  # Melee's stage id
        ("seed", "i8"),  # for random events of a stage
        ("chance", "i8"),  # state of the generator that starts with it
        ("wind", "i4"),  # of Dream Land's tree: -1 to the left, +1 to the right, 0 none
        ("wind_frames", "i4"),  # frames until it changes, 0: never
        ("fountain_given", "i4"),  # 1: the heights below are set from outside; the mock does not move the platforms
        ("fountain_left", "f8"),  # height of Fountain of Dreams' left platform, units
        ("fountain_right", "f8"),
        # What its platforms (left, right) do, see ``physics.fountain``.
        ("fountain_moves", "i4", (2,)),  # 1: towards the target
        ("fountain_target", "f8", (2,)),  # height, units
        ("fountain_frames", "i4", (2,)),  # frames of rest left
    ],
    align=True,
)


@dataclass(slots=True)
class GameState:
    """State of B games: three structured arrays, one field per quantity."""

    game: NDArray[np.void]  # GAME [B]
    players: NDArray[np.void]  # PLAYER [B, P]
    controllers: NDArray[np.void]  # CONTROLLER [B, P], the inputs of the last frame

    @classmethod
    def zeros(cls, num_games: int) -> GameState:
        """B games with every field 0."""
        return cls(
            records(GAME, num_games), records(PLAYER, num_games, NUM_SEATS), records(CONTROLLER, num_games, NUM_SEATS)
        )


def records(dtype: np.dtype[np.void], *shape: int) -> NDArray[np.void]:
    """A zeroed structured array whose elements have attributes, compiled (``array[i].x``) and uncompiled alike."""
    return np.zeros(shape, _record(dtype))


def as_records(array: NDArray[np.void]) -> NDArray[np.void]:
    """The same memory, as ``records`` gives it."""
    return array.view(np.ndarray).view(_record(array.dtype))


@cache  # one object a layout: Numba knows a type again by the identity of its dtype
def _record(dtype: np.dtype[np.void]) -> np.dtype[np.void]:
    return np.dtype((np.record, dtype))
