"""Shielding, dodging on the ground, shield stun and broken shields."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A
from selfplay_melee.physics.actions.crouch import drop_through, flicked_through
from selfplay_melee.physics.actions.ground import REFLECT_AGE, start_jump_squat
from selfplay_melee.physics.actions.roll import roll
from selfplay_melee.physics.change import enter, finished, leave_ground
from selfplay_melee.physics.inputs import (
    DODGE_STICK,
    SHIELD_DROP_STICK,
    SMASH_AGE,
    TRIGGER_DEAD_ZONE,
    TRIGGERS,
    at_rim,
    grab_pressed,
    shield_held,
    shield_jump_asked,
)
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.stages.stage import on_platform

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
STUN_LENGTH = 20.0  # frames of the animation of shield stun, stretched to the stun
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
    """Start any action that is possible out of shield, in the order of the game; whether one started."""
    if _spot_dodge(p, m) or roll(p, m):
        return True
    if m.pressed & BUTTON_A and m.dash_grab > 0 and p.action != a.GUARD:
        enter(p, m, a.CATCH_DASH)
        return True
    m.dash_grab = max(m.dash_grab - 1, 0)
    if grab_pressed(m):
        enter(p, m, a.CATCH)
        return True
    if shield_jump_asked(m):
        start_jump_squat(p, m, c)
        return True
    if shield_held(m) and flicked_through(m):
        drop_through(p, m, c)
        return True
    return False


@rule
def _spot_dodge(p, m):
    by_stick = m.stick_y <= -DODGE_STICK and m.y_age < SMASH_AGE
    if m.c_y > -DODGE_STICK and (not by_stick or _shield_drop_asked(m)):
        return False
    enter(p, m, a.SPOT_DODGE)
    return True


@rule
def _shield_drop_asked(m):
    """The Universal Controller Fix: rolling the stick's rim down to a notch drops through a platform."""
    return m.x_age >= SMASH_AGE and m.stick_y > SHIELD_DROP_STICK and on_platform(m) and at_rim(m)


@rule
def guard(p, m, c):
    """Hold the shield. Once let go, if only for a frame, it is lowered as soon as it may be."""
    tilt_shield(m)
    p.shield -= SHIELD_DRAIN * m.trigger_before
    if p.shield <= 0.0:
        break_shield(p, m)
        return
    m.guard_lock = max(m.guard_lock - 1, 0)
    if p.action != a.GUARD and m.age >= c.guard_on_frames:
        enter(p, m, a.GUARD)
    _guard_options(p, m, c)


@rule
def _guard_options(p, m, c):
    if not shield_held(m):
        m.let_go = 1
    if m.let_go and m.guard_lock == 0:
        enter(p, m, a.GUARD_OFF)
        return
    pressed = m.pressed & TRIGGERS != 0 and m.trigger_age < REFLECT_AGE
    if pressed and p.action == a.GUARD_ON and m.age < REFLECT_AGE:
        p.action = a.GUARD_REFLECT
        m.trigger_age = NEVER
        return
    shield_options(p, m, c)


@rule
def guard_stun(p, m, c):
    """Stunned behind the shield; as it ends the player can act."""
    tilt_shield(m)
    if p.action_frame < STUN_LENGTH:
        return
    if m.let_go:
        enter(p, m, a.GUARD_OFF)
    else:
        enter(p, m, a.GUARD)
        _guard_options(p, m, c)


@rule
def guard_off(p, m, c, tables):
    """Lower the shield; a spot dodge or a jump interrupts this."""
    if finished(p, m, tables):
        enter(p, m, a.WAIT)
    elif not _spot_dodge(p, m) and shield_jump_asked(m):
        start_jump_squat(p, m, c)


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
        m.dizzy_for -= 1.0 + MASH_RELIEF * (m.mashed + (1 if m.x_age == 0 or m.y_age == 0 else 0))
        if m.dizzy_for <= 0.0:
            enter(p, m, a.WAIT)
