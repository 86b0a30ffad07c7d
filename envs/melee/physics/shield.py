"""Shielding, dodging on the ground, shield stun and broken shields."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_Z
from envs.melee.physics.attack import up_smash_asked
from envs.melee.physics.change import enter, leave_ground
from envs.melee.physics.ground import drop_through, platform_drop_asked, start_jump_squat
from envs.melee.physics.inputs import (
    C_STICK,
    DODGE_STICK,
    SMASH_AGE,
    TRIGGER_DEAD_ZONE,
    TRIGGERS,
    jump_pressed,
    shield_held,
)
from envs.melee.physics.special import start_special, up_special_asked

SPOT_DODGE_STICK = -0.8  # on a platform a flick not so far down drops through it
FULL_SHIELD = 60.0
SHIELD_DRAIN = 0.28  # a frame, with a full trigger
SHIELD_HEAL = 0.07  # a frame
SHIELD_DAMAGE = 0.7  # share of a hit's damage that the shield takes
BROKEN_SHIELD = 30.0  # what a shield comes back with
BREAK_SPEED = 2.5  # upwards
BREAK_DOWN_FRAMES = 25.0
BREAK_STAND_FRAMES = 29.0
DIZZY_FRAMES = 490.0  # less the percent
MASH_RELIEF = 3.0  # frames that an input takes off
GUARD_ON_FRAMES = 8  # before the shield can be let down
REFLECT_AGE = 1  # frames within which a press still reflects
STUN_LENGTH = 20.0  # frames of the animation of shield stun, stretched to the stun
GUARD_OFF_FRAMES = 14.0
# Size of the bubble and speed of its tilt: constants of the game's common data (ftCo_Guard.c).
SHIELD_LEAST = 0.15  # share of its full size that a spent shield has
HARD_SHIELD = 0.5  # share of the rest that a shield loses with a full trigger
SHIELD_SIZE = 2.0  # its full radius over ``shield_radius``
TILT_STEP = 0.5  # share of the way to the stick that the bubble goes in a frame


@rule
def is_shielding(p):
    """Whether the shield is up."""
    return a.GUARD_ON <= p.action <= a.GUARD_REFLECT and p.action != a.GUARD_OFF


@rule
def shield_size(p, m, c):
    """Radius of the bubble in units, by the shield's health and the trigger."""
    hold = (max(m.trigger, TRIGGER_DEAD_ZONE) - TRIGGER_DEAD_ZONE) / (1.0 - TRIGGER_DEAD_ZONE)
    share = p.shield / FULL_SHIELD * (1.0 - HARD_SHIELD * hold)
    return SHIELD_SIZE * c.shield_radius * (SHIELD_LEAST + (1.0 - SHIELD_LEAST) * share)


@rule
def shield_place(p, m, c):
    """Centre of the bubble."""
    return p.x + p.facing * c.shield_x + c.shield_tilt * m.tilt_x, p.y + c.shield_y + c.shield_tilt * m.tilt_y


@rule
def tilt_shield(m):
    """Move the bubble towards the stick."""
    m.tilt_x += TILT_STEP * (m.stick_x - m.tilt_x)
    m.tilt_y += TILT_STEP * (m.stick_y - m.tilt_y)


@rule
def shield_options(p, m, c):
    """Start any action that is possible out of shield; whether one started."""
    if m.pressed & (BUTTON_A | BUTTON_Z):
        enter(p, m, a.CATCH)
        return True
    if platform_drop_asked(m) and m.stick_y > SPOT_DODGE_STICK:
        drop_through(p, m)
        return True
    if dodge(p, m):
        return True
    if up_smash_asked(m) and m.c_pressed == 0:
        return False
    if up_special_asked(m) and start_special(p, m, c):
        return True
    if jump_pressed(m) or (m.c_pressed and m.c_y >= C_STICK):
        start_jump_squat(p, m, c)
        return True
    return False


@rule
def dodge(p, m):
    """Roll or spot dodge by a flick of the stick, or by the c-stick if it is out; whether one was started."""
    by_c = max(abs(m.c_x), abs(m.c_y)) >= DODGE_STICK
    x = m.c_x if by_c else m.stick_x
    y = m.c_y if by_c else m.stick_y
    fresh_x = by_c or m.x_age < SMASH_AGE
    fresh_y = by_c or m.y_age < SMASH_AGE
    if y <= -DODGE_STICK and fresh_y:
        enter(p, m, a.SPOT_DODGE)
        return True
    if abs(x) >= DODGE_STICK and fresh_x:
        enter(p, m, a.ROLL_F if x * p.facing > 0.0 else a.ROLL_B)
        return True
    return False


@rule
def guard(p, m, c):
    """Hold the shield."""
    tilt_shield(m)
    p.shield -= SHIELD_DRAIN * m.trigger_before
    if p.shield <= 0.0:
        break_shield(p, m)
        return
    settled = p.action == a.GUARD or m.age >= GUARD_ON_FRAMES
    if settled and not shield_held(m):
        enter(p, m, a.GUARD_OFF)
        return
    if shield_options(p, m, c):
        return
    if p.action == a.GUARD_ON and m.age <= REFLECT_AGE and m.pressed & TRIGGERS:
        p.action = a.GUARD_REFLECT
    if settled and p.action != a.GUARD:
        enter(p, m, a.GUARD)


@rule
def guard_stun(p, m):
    """Stunned behind the shield."""
    tilt_shield(m)
    if p.action_frame >= STUN_LENGTH:
        enter(p, m, a.GUARD if shield_held(m) else a.GUARD_OFF)


@rule
def guard_off(p, m, c):
    """Lower the shield; only a jump interrupts this."""
    if jump_pressed(m):
        start_jump_squat(p, m, c)
    elif p.action_frame > GUARD_OFF_FRAMES:
        enter(p, m, a.WAIT)


@rule
def heal_shield(p):
    """Regenerate a shield that is not in use."""
    if not is_shielding(p) and p.shield < FULL_SHIELD:
        p.shield = min(p.shield + SHIELD_HEAL, FULL_SHIELD)


@rule
def break_shield(p, m):
    """Break the shield: the player flies up and is dizzy afterwards."""
    p.shield = BROKEN_SHIELD
    leave_ground(p, m)
    p.speed_air_x = 0.0
    p.speed_y = BREAK_SPEED
    enter(p, m, a.SHIELD_BREAK_FLY)
    m.dizzy_for = max(DIZZY_FRAMES - p.percent, 60.0)


@rule
def broken(p, m):
    """One frame of a broken shield, until the player can act again."""
    if p.action == a.SHIELD_BREAK_FLY or p.action == a.SHIELD_BREAK_FALL:
        if p.action == a.SHIELD_BREAK_FLY and p.speed_y < 0.0:
            enter(p, m, a.SHIELD_BREAK_FALL)
    elif p.action == a.SHIELD_BREAK_DOWN:
        if p.action_frame > BREAK_DOWN_FRAMES:
            enter(p, m, a.SHIELD_BREAK_STAND)
    elif p.action == a.SHIELD_BREAK_STAND:
        if p.action_frame > BREAK_STAND_FRAMES:
            enter(p, m, a.DIZZY)
    else:
        m.dizzy_for -= 1.0 + MASH_RELIEF * m.mashed
        if m.dizzy_for <= 0.0:
            enter(p, m, a.WAIT)
