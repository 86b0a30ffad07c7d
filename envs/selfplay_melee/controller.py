"""Discrete actions <-> GameCube controller inputs, exactly, including full stick and full trigger.

An action is 14 small integers: 8 buttons (0 or 1), main stick x and y, c-stick x and y (0..16, 8 is the centre,
16 is full right or up), one shoulder (0..4, 4 is the full trigger) and the tap (0 or 1). Sticks decode to multiples of
1/8, which are multiples of 10 of the 160 positions that the game distinguishes; the trigger to multiples of 1/4. With
the tap, buttons are released after ``TAP_FRAMES`` frames, although the action holds for longer: so every character can
hop low, whatever the frame skip.

Actions are given in the view of the seat (see ``observation``): where the view is mirrored, x codes are too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.api import Actions, ActionSpec, Bool
from selfplay.games.errors import ActionError

BUTTONS: Final = ("A", "B", "X", "Y", "Z", "L", "R", "D_UP")
AXES: Final = ("main_x", "main_y", "c_x", "c_y")
FIELDS: Final = (*BUTTONS, *AXES, "shoulder", "tap")
STICK_CODES: Final = 17
SHOULDER_CODES: Final = 5
CENTRE: Final = 8
TAP_FRAMES: Final = 2  # less than the shortest time in which a character gets ready to jump, 3 frames
HELD: Final = -1  # in place of a number of frames: until the next action
ACTION_SPEC: Final = ActionSpec(
    binary=len(BUTTONS),
    sizes=(STICK_CODES,) * len(AXES) + (SHOULDER_CODES, 2),
    # A c-stick that is never centred attacks all the time; the main stick may move.
    rest=(-1, -1, CENTRE, CENTRE, 0, 0),
)
MAIN_X, MAIN_Y, C_X, C_Y, SHOULDER, TAP = range(len(BUTTONS), len(FIELDS))
NEUTRAL: Final = np.array([0] * len(BUTTONS) + [CENTRE] * len(AXES) + [0, 0], np.int8)
HIGHEST: Final = np.array([1] * len(BUTTONS) + [STICK_CODES - 1] * len(AXES) + [SHOULDER_CODES - 1, 1], np.int8)

BUTTON_A, BUTTON_B, BUTTON_X, BUTTON_Y, BUTTON_Z, BUTTON_L, BUTTON_R, BUTTON_D_UP = (1 << i for i in range(8))


def decode(actions: Actions, controllers: NDArray[np.void]) -> None:
    """Write actions [..., 14] into CONTROLLER records [...], as they are on the first frame."""
    for i, axis in enumerate(AXES):
        controllers[axis] = (actions[..., MAIN_X + i].astype(np.float64) - CENTRE) / CENTRE
    controllers["shoulder"] = actions[..., SHOULDER].astype(np.float64) / (SHOULDER_CODES - 1)
    controllers["buttons"] = (actions[..., : len(BUTTONS)].astype(np.int32) << np.arange(len(BUTTONS))).sum(-1)


def encode(controllers: NDArray[np.void]) -> Actions:
    """The nearest action [..., 14] to CONTROLLER records [...]; exact on all that ``decode`` gives, without taps."""
    actions = np.empty((*controllers.shape, len(FIELDS)), np.int8)
    actions[..., : len(BUTTONS)] = (controllers["buttons"][..., None] >> np.arange(len(BUTTONS))) & 1
    for i, axis in enumerate(AXES):
        actions[..., MAIN_X + i] = np.clip(np.rint(controllers[axis] * CENTRE), -CENTRE, CENTRE) + CENTRE
    actions[..., SHOULDER] = np.clip(np.rint(controllers["shoulder"] * (SHOULDER_CODES - 1)), 0, SHOULDER_CODES - 1)
    actions[..., TAP] = 0
    return actions


def mirror(actions: Actions, where: Bool) -> Actions:
    """Actions [..., 14] with left and right exchanged where the view is mirrored, [...]."""
    result = actions.copy()
    for column in (MAIN_X, C_X):
        result[..., column] = np.where(where, STICK_CODES - 1 - actions[..., column], actions[..., column])
    return result


def check_actions(actions: NDArray[np.generic], num_games: int, num_seats: int) -> Actions:
    """The same actions as int8 [B, P, 14].

    Raises:
        ActionError: wrong shape or type, a value that is not a whole number, or one out of range; the message
            names game, seat, field and value.
    """
    shape = (num_games, num_seats, len(FIELDS))
    if not isinstance(actions, np.ndarray) or actions.shape != shape:
        got = getattr(actions, "shape", type(actions).__name__)
        raise ActionError(f"actions must be an array of shape {shape} (games, seats, {', '.join(FIELDS)}), got {got}")
    if actions.dtype.kind not in "biuf":
        raise ActionError(f"actions must be whole numbers, got dtype {actions.dtype}")
    numbers = actions.astype(np.float64)
    bad = ~((numbers >= 0) & (numbers <= HIGHEST))  # NaN is bad too
    if actions.dtype.kind == "f":
        bad |= numbers != np.floor(numbers)
    if bad.any():
        game, seat, field = np.argwhere(bad)[0]
        raise ActionError(
            f"game {game}, seat {seat}: {FIELDS[field]} is {actions[game, seat, field]}, "
            f"valid are whole numbers from 0 to {HIGHEST[field]}"
        )
    return actions.astype(np.int8, copy=False)
