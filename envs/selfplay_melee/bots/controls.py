"""Controller inputs of scripted players: presses, stick flicks, attacks by name, movement."""

from __future__ import annotations

from typing import Final

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_L, BUTTON_X, BUTTON_Z
from selfplay_melee.rng import following, unit

# Memory of a bot; ``kind`` is -1 if the seat has no bot.
BOT: Final = np.dtype(
    [
        ("rng", "i8"),
        ("seed", "i8"),
        ("kind", "i4"),
        ("plan", "i4"),  # current plan, numbered by each bot for itself
        ("until", "i4"),  # frame of the game at which it makes a new plan
        ("held", "i4"),  # buttons of the decision before, and C_HELD
        ("stick", "f8"),  # main stick x of the decision before
        ("wavedash", "f8"),  # side of a wavedash that has begun, 0: none
    ],
    align=True,
)

C_HELD = 1 << 8  # the c-stick was out of its rest
TILT_STICK = 0.5
WALK_STICK = 0.75
EDGE_MARGIN = 8.0  # units from the edge of the stage at which a bot stops walking
FLOATING = 2.0  # units a frame
SAFE_DRIFT = 20.0  # units from the edge at which a bot in the air turns back
LEVEL = 15.0  # units of height that count as another platform
LEVEL_RANGE = 30.0  # units sideways within which it changes platforms
BRAKING = 12.0  # frames of the present speed that stopping takes


@rule
def draw(bot):
    """The next random number of a bot, in [0, 1)."""
    bot.rng = following(bot.rng)
    return unit(bot.rng)


@rule
def release(pad):
    pad.main_x = 0.0
    pad.main_y = 0.0
    pad.c_x = 0.0
    pad.c_y = 0.0
    pad.shoulder = 0.0
    pad.buttons = 0


@rule
def tap(bot, pad, button):
    """Press a button, or release it until the next decision if it is still down."""
    if bot.held & button == 0:
        pad.buttons |= button


@rule
def flick_c(bot, pad, x, y):
    """Flick the c-stick, unless it is still out."""
    if bot.held & C_HELD == 0:
        pad.c_x = x
        pad.c_y = y


@rule
def flick_x(bot, pad, side):
    """Flick the main stick sideways, unless it is still there."""
    if bot.stick * side <= 0.0:
        pad.main_x = side


@rule
def shield(pad):
    pad.buttons |= BUTTON_L


@rule
def jump(bot, pad, side):
    """Jump to a side; -1, 0 or +1."""
    pad.main_x = side
    tap(bot, pad, BUTTON_X)


@rule
def perform(bot, pad, me, action, side):
    """Press what starts an attack or a grab; attacks that can be aimed go to ``side``."""
    if action == a.JAB_1 or action == a.NAIR:
        tap(bot, pad, BUTTON_A)
    elif action == a.DASH_ATTACK:
        pad.main_x = me.facing
        tap(bot, pad, BUTTON_A)
    elif action == a.FTILT:
        pad.main_x = TILT_STICK * me.facing
        tap(bot, pad, BUTTON_A)
    elif action == a.UTILT or action == a.DTILT:
        pad.main_y = TILT_STICK if action == a.UTILT else -TILT_STICK
        tap(bot, pad, BUTTON_A)
    elif action == a.FSMASH:
        flick_c(bot, pad, side, 0.0)
    elif action == a.USMASH or action == a.UAIR:
        flick_c(bot, pad, 0.0, 1.0)
    elif action == a.DSMASH or action == a.DAIR:
        flick_c(bot, pad, 0.0, -1.0)
    elif action == a.FAIR or action == a.BAIR:
        flick_c(bot, pad, me.facing if action == a.FAIR else -me.facing, 0.0)
    elif action == a.CATCH:
        tap(bot, pad, BUTTON_Z)


@rule
def room(me, stage, side):
    """Units from the player to the edge of the main floor on a side, after braking."""
    speed = max(side * me.speed_ground_x, 0.0) if me.on_ground else 0.0
    return stage.surface_right[0] - side * me.x - BRAKING * speed


@rule
def drift(pad, me, tables, stage, side):
    """Move to a side in the air; out over the edge only with a jump left, and only if the character falls slowly."""
    may_leave = me.jumps_left > 0 and floats(me, tables)
    back = not may_leave and side * me.x > stage.surface_right[0] - SAFE_DRIFT
    pad.main_x = -side if back else side


@rule
def floats(p, tables):
    """Whether the character falls slowly enough to return easily from beside the stage."""
    return tables.characters[tables.character_rows[p.character]].fall_speed < FLOATING


@rule
def walk(pad, me, stage, side):
    """Walk to a side, not over the edge."""
    if room(me, stage, side) > EDGE_MARGIN:
        pad.main_x = WALK_STICK * side


@rule
def dash(bot, pad, me, stage, side):
    """Dash to a side and keep running, not over the edge."""
    if room(me, stage, side) <= EDGE_MARGIN:
        if side * me.speed_ground_x > 0.5:
            shield(pad)  # stops a run at once, or at the edge
        return
    if me.action == a.DASH or me.action == a.RUN or a.TURN <= me.action <= a.TURN_RUN:
        pad.main_x = side
    else:
        flick_x(bot, pad, side)


@rule
def change_level(bot, pad, me, other, side):
    """Jump to, or drop from, a platform between the two players; whether it does."""
    if other.on_ground == 0 or abs(other.x - me.x) > LEVEL_RANGE:
        return False
    if other.y - me.y > LEVEL:
        jump(bot, pad, side)
        return True
    if me.y - other.y > LEVEL:
        pad.main_y = -1.0
        return True
    return False


@rule
def face(pad, side):
    pad.main_x = TILT_STICK * side


@rule
def mash(bot, pad):
    """Press buttons and move the stick from side to side, to break free."""
    tap(bot, pad, BUTTON_A)
    tap(bot, pad, BUTTON_X)
    pad.main_x = -1.0 if bot.stick > 0.0 else 1.0
