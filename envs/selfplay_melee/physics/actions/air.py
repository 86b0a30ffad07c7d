"""Jumping and falling, air dodges and what can be started in the air."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.attack import air_attack
from selfplay_melee.physics.actions.special import start_special
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.change import enter, lock_hull, start_fall, start_fall_special
from selfplay_melee.physics.inputs import TRIGGERS, jump_pressed
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.motion import drift, fall, fast_fall

AIR_DODGE_SPEED = 3.1
AIR_DODGE_KEEP = 0.9  # share of the speed kept each frame
AIR_DODGE_GLIDE = 29.0  # frames of an air dodge before gravity acts
AIR_DODGE_LANDING = 10.0  # frames of landing lag: a wavedash
DROP_FRAMES = 29  # of a platform drop and of a jump from a ledge, before plain falling


@rule
def air_options(p, m, c):
    """Start any action that is possible in free flight; whether one started."""
    if start_special(p, m, c):
        return True
    if m.pressed & TRIGGERS:
        start_air_dodge(p, m)
        return True
    return _attack_or_jump(p, m, c)


@rule
def tumble_options(p, m, c):
    """Start any action that is possible in a tumble: all but the air dodge."""
    return start_special(p, m, c) or _attack_or_jump(p, m, c)


@rule
def _attack_or_jump(p, m, c):
    if air_attack(p, m):
        return True
    if p.jumps_left > 0 and jump_pressed(m):
        double_jump(p, m, c)
        return True
    return False


@rule
def double_jump(p, m, c):
    """Jump in the air; the stick sets the sideways speed."""
    jump = c.air_jumps - p.jumps_left
    p.jumps_left -= 1
    m.fast_fall = 0
    m.y_age = NEVER  # the flick that asked for it is used up
    p.speed_air_x = m.stick_x * c.double_jump_x  # drift of this frame comes on top
    p.speed_y = c.double_jump_y
    lock_hull(m)
    if c.air_jump_action > 0.0:
        p.speed_y -= c.air_jump_loss * max(jump - c.air_jump_keeps, 0.0)
        enter(p, m, int(c.air_jump_action) + int(jump))
        p.action_frame = 0.0
        if m.stick_x * p.facing < 0.0:
            p.facing = -p.facing
        return
    enter(p, m, a.JUMP_AERIAL_B if m.stick_x * p.facing < 0.0 else a.JUMP_AERIAL_F)


@rule
def start_air_dodge(p, m):
    """Dodge along the stick, or in place."""
    length = norm(m.stick_x, m.stick_y)
    p.speed_air_x = AIR_DODGE_SPEED * m.stick_x / length if length > 0.0 else 0.0
    p.speed_y = AIR_DODGE_SPEED * m.stick_y / length if length > 0.0 else 0.0
    m.fast_fall = 0
    enter(p, m, a.AIR_DODGE)


@rule
def jump(p, m, c, tables):
    """Rising or falling after a jump."""
    if air_options(p, m, c):
        return
    frames = tables.actions[m.character_row, p.action].frames
    if p.action_frame > (frames if frames > 0 else DROP_FRAMES):
        aerial = a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B
        start_fall(p, m)
        if aerial:
            p.action = a.FALL_AERIAL
            m.fast_fall = 0


@rule
def air_dodge(p, m, tables):
    """No actions until landing."""
    if p.action_frame > tables.actions[m.character_row, p.action].frames:
        start_fall_special(p, m, AIR_DODGE_LANDING, 1.0, 0)


@rule
def air_dodge_speed(p, m, c):
    """The dodge slows down by itself, then falls."""
    if p.action_frame <= AIR_DODGE_GLIDE:
        p.speed_air_x *= AIR_DODGE_KEEP
        p.speed_y *= AIR_DODGE_KEEP
    else:
        fast_fall(p, m)
        drift(p, m, c)
        fall(p, m, c)
