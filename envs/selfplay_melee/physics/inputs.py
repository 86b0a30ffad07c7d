"""Processing of a controller: dead zones, new presses and the ages of stick flicks."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_D_UP, BUTTON_L, BUTTON_R, BUTTON_X, BUTTON_Y, BUTTON_Z
from selfplay_melee.physics.memory import NEVER

DEAD_ZONE = 0.28  # stick positions below this count as 0, per axis
TRIGGER_DEAD_ZONE = 0.3
Z_TRIGGER = 0.35  # Z counts as A and a trigger pressed this far
C_STICK = 0.28  # the c-stick is out from here on, per axis
C_SMASH = 0.8  # the c-stick asks for a forward smash
RIM = 80  # steps from the middle of the stick to its rim
GATE = 1.0001  # square of a stick beyond it; a recorded stick at the rim is not
ROUNDING = 1e-6

TILT = 0.25  # least stick for a tilt attack
DASH_STICK = 0.8
DASH_AGE = 2  # frames that the stick may take from the dead zone
SMASH_AGE = 4
DROP_AGE = 6
RUN_STICK = 0.62
TURN_RUN_STICK = 0.375
JUMP_STICK = 0.6625
RUN_JUMP_STICK = 0.5625  # while dashing, running, braking or turning around
SHORT_HOP_STICK = 0.3  # a stick below this has let go of the jump
CROUCH_STICK = -0.69  # -0.6875 is not enough
STAY_DOWN_STICK = -0.625
FAST_FALL_STICK = -0.6625
DROP_STICK = -0.66  # platform drop
PASS_STICK = -0.6499  # falling through platforms: -0.65 in single precision
DODGE_STICK = 0.6999  # 0.7 in single precision
SHIELD_DROP_STICK = -0.8  # the stick at its rim drops through a platform down to here, below it dodges
BY_BUTTON, BY_STICK, BY_C_STICK = 0, 1, 2  # what asked for a jump

JUMP_BUTTONS = BUTTON_X | BUTTON_Y
TRIGGERS = BUTTON_L | BUTTON_R
ALL_BUTTONS = BUTTON_A | BUTTON_B | JUMP_BUTTONS | BUTTON_Z | TRIGGERS | BUTTON_D_UP
TECH_LOCK = 40  # frames before a second trigger press counts as a tech again


@rule
def read_inputs(m, pad):
    """Turn this frame's controller into stick, trigger, presses and ages in memory ``m``."""
    x, y = _stick(pad.main_x, pad.main_y)
    m.x_age = _age(m.x_age, m.stick_x, x)
    m.y_age = _age(m.y_age, m.stick_y, y)
    m.side_age = min(m.side_age + 1, NEVER)
    if m.x_age == 0:
        m.side = 1 if x > 0.0 else -1
        m.side_age = 0
    m.pad_x_earlier = m.pad_x_before
    m.pad_x_before = m.pad_x
    m.pad_x = pad.main_x
    m.stick_x_before = m.stick_x
    m.stick_y_before = m.stick_y
    m.stick_x = x
    m.stick_y = y

    m.c_x_before = m.c_x
    m.c_y_before = m.c_y
    m.c_x, m.c_y = _stick(pad.c_x, pad.c_y)
    m.c_pressed = 1 if _went_out(m.c_x_before, m.c_x) or _went_out(m.c_y_before, m.c_y) else 0

    m.mashed = 1 if m.pressed & ~BUTTON_D_UP else 0
    buttons = int(pad.buttons) & ALL_BUTTONS
    if buttons & BUTTON_Z:
        buttons |= BUTTON_A
    m.pressed = buttons & ~m.held
    m.held = buttons
    m.trigger_before = m.trigger
    m.trigger = _trigger(pad.shoulder, buttons)
    m.trigger_age = 0 if m.trigger_before == 0.0 else min(m.trigger_age + 1, NEVER)
    if m.trigger == 0.0:
        m.trigger_age = NEVER
    _age_presses(m)


@rule
def _trigger(shoulder, buttons):
    if buttons & BUTTON_Z:
        return Z_TRIGGER
    if buttons & TRIGGERS:
        return 1.0
    return shoulder if shoulder > TRIGGER_DEAD_ZONE else 0.0


@rule
def _went_out(before, now):
    return abs(before) < C_STICK <= abs(now)


@rule
def _stick(x, y):
    """Clamp to the unit circle in whole steps, as the game does, then drop the dead zone of each axis."""
    square = x * x + y * y
    if square > GATE:
        length = math.sqrt(square)
        x = _whole_steps(x / length)
        y = _whole_steps(y / length)
    return (x if abs(x) >= DEAD_ZONE else 0.0), (y if abs(y) >= DEAD_ZONE else 0.0)


@rule
def _whole_steps(x):
    return int(x * RIM + (ROUNDING if x > 0.0 else -ROUNDING)) / RIM


@rule
def _age(age, before, now):
    if now == 0.0:
        return NEVER
    if before * now <= 0.0:
        return 0
    return min(age + 1, NEVER)


@rule
def _age_presses(m):
    m.shoulder_age = 0 if m.trigger_before == 0.0 < m.trigger else min(m.shoulder_age + 1, NEVER)
    m.tech_lock = max(m.tech_lock - 1, 0)
    if m.pressed & TRIGGERS:
        m.tech_age = 0 if m.tech_lock == 0 else NEVER
        m.tech_lock = TECH_LOCK
    else:
        m.tech_age = min(m.tech_age + 1, NEVER)


@rule
def jump_pressed(m):
    """Whether X, Y or a flick up asks for a jump; records which."""
    return jump_asked(m, JUMP_STICK)


@rule
def jump_asked(m, stick):
    """Whether a flick up to ``stick``, X or Y asks for a jump; records which."""
    if m.stick_y >= stick and m.y_age < SMASH_AGE:
        m.jump_input = BY_STICK
        return True
    if m.pressed & JUMP_BUTTONS:
        m.jump_input = BY_BUTTON
        return True
    return False


@rule
def shield_jump_asked(m):
    """Whether a jump is asked for while shielding, where the c-stick up does it too; records how."""
    if jump_pressed(m):
        return True
    if m.c_y >= JUMP_STICK:
        m.jump_input = BY_C_STICK
        return True
    return False


@rule
def jump_held(m):
    """Whether the input that started the jump is still down."""
    if m.jump_input == BY_BUTTON:
        return (m.held & JUMP_BUTTONS) != 0
    return (m.stick_y if m.jump_input == BY_STICK else m.c_y) >= SHORT_HOP_STICK


@rule
def flicked_down(m):
    """Whether the stick was just flicked down: fast fall."""
    return m.stick_y <= FAST_FALL_STICK and m.y_age < SMASH_AGE


@rule
def dash_direction(m):
    """-1 or +1 for a fresh flick to a side, else 0."""
    if abs(m.stick_x) >= DASH_STICK and m.x_age < DASH_AGE:
        return 1.0 if m.stick_x > 0.0 else -1.0
    return 0.0


@rule
def at_rim(m):
    """Whether the stick is at its rim, within two steps on each axis."""
    x, y = int(abs(m.stick_x) * RIM - 0.0001) + 2, int(abs(m.stick_y) * RIM - 0.0001) + 2
    return x * x + y * y > RIM * RIM


@rule
def shield_held(m):
    """A trigger is down, if only lightly, or Z."""
    return m.trigger > 0.0


@rule
def grab_pressed(m):
    """A with a trigger; Z is both."""
    return m.pressed & BUTTON_A != 0 and m.trigger > 0.0
