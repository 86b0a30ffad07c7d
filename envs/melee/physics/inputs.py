"""Processing of a controller: dead zones, new presses and the ages of stick flicks."""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee.controller import (
    BUTTON_A,
    BUTTON_B,
    BUTTON_D_UP,
    BUTTON_L,
    BUTTON_R,
    BUTTON_X,
    BUTTON_Y,
    BUTTON_Z,
)
from envs.melee.physics.memory import NEVER

DEAD_ZONE = 0.28  # stick positions below this count as 0, per axis
TRIGGER_DEAD_ZONE = 0.3
C_STICK = 0.28  # the c-stick acts from here on

TILT = 0.25  # least stick for a tilt attack
DASH_STICK = 0.8
DASH_AGE = 2  # frames that the stick may take from the dead zone
SMASH_AGE = 4
RUN_STICK = 0.62
JUMP_STICK = 0.6625
RUN_JUMP_STICK = 0.5625  # while dashing or running
CROUCH_STICK = -0.6875
STAY_DOWN_STICK = -0.625
DROP_STICK = -0.6625  # fast fall and platform drop
PASS_STICK = -0.65  # falling through platforms
DODGE_STICK = 0.6999  # 0.7 in single precision

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
    m.stick_x_before = m.stick_x
    m.stick_y_before = m.stick_y
    m.stick_x = x
    m.stick_y = y

    m.trigger_before = m.trigger
    before = max(abs(m.c_x), abs(m.c_y)) >= C_STICK
    m.c_x_before = m.c_x
    m.c_y_before = m.c_y
    m.c_x, m.c_y = _stick(pad.c_x, pad.c_y)
    out = max(abs(m.c_x), abs(m.c_y)) >= C_STICK
    m.c_age = NEVER if not out else min(m.c_age + 1, NEVER) if before else 0
    m.c_pressed = 1 if out and not before else 0

    m.mashed = 1 if m.pressed & ~BUTTON_D_UP else 0
    buttons = int(pad.buttons) & ALL_BUTTONS
    m.pressed = buttons & ~m.held
    m.held = buttons
    m.trigger = pad.shoulder if pad.shoulder >= TRIGGER_DEAD_ZONE else 0.0
    if m.held & TRIGGERS:
        m.trigger = 1.0
    _age_presses(m)
    if m.trigger_before == 0.0 and m.trigger > 0.0:
        m.shoulder_age = 0


@rule
def _stick(x, y):
    """Clamp to the unit circle, as the gate does, then drop the dead zone of each axis."""
    square = x * x + y * y
    if square > 1.0:
        length = math.sqrt(square)
        x = x / length
        y = y / length
    return (x if abs(x) >= DEAD_ZONE else 0.0), (y if abs(y) >= DEAD_ZONE else 0.0)


@rule
def _age(age, before, now):
    if now == 0.0:
        return NEVER
    if before * now <= 0.0:
        return 0
    return min(age + 1, NEVER)


@rule
def _age_presses(m):
    m.shoulder_age = 0 if m.pressed & (TRIGGERS | BUTTON_Z) else min(m.shoulder_age + 1, NEVER)
    m.tech_lock = max(m.tech_lock - 1, 0)
    if m.pressed & TRIGGERS:
        m.tech_age = 0 if m.tech_lock == 0 else NEVER
        m.tech_lock = TECH_LOCK
    else:
        m.tech_age = min(m.tech_age + 1, NEVER)


@rule
def jump_pressed(m):
    """Whether X, Y or a flick up asks for a jump; records whether it was the stick."""
    return jump_asked(m, JUMP_STICK)


@rule
def jump_asked(m, stick):
    """Whether X, Y or a flick up to ``stick`` asks for a jump; records whether it was the stick."""
    if m.pressed & JUMP_BUTTONS:
        m.stick_jump = 0
        return True
    if m.stick_y >= stick and m.y_age < SMASH_AGE:
        m.stick_jump = 1
        return True
    return False


@rule
def jump_held(m):
    """Whether the input that started the jump is still down."""
    if m.stick_jump:
        return m.stick_y > 0.0
    return (m.held & JUMP_BUTTONS) != 0


@rule
def flicked_down(m):
    """Whether the stick was just flicked down: fast fall, platform drop."""
    return m.stick_y <= DROP_STICK and m.y_age < SMASH_AGE


@rule
def dash_direction(m):
    """-1 or +1 for a fresh flick to a side, else 0."""
    if abs(m.stick_x) >= DASH_STICK and m.x_age < DASH_AGE:
        return 1.0 if m.stick_x > 0.0 else -1.0
    return 0.0


@rule
def shield_held(m):
    """A trigger is down, if only lightly."""
    return m.trigger > 0.0
