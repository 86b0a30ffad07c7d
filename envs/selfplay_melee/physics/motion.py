"""Speeds: friction, drift and gravity; and the motion that an animation contains."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.inputs import flicked_down
from selfplay_melee.physics.memory import NEVER

JUMP_DRIFT = 0.8  # share of the drift that a jump leaves to characters with many; measured from replays of two
AT_REST = 1e-4  # upward speed below which a jump is over its top, where single precision leaves a trace of falling


@rule
def toward(value, target, step):
    """``value`` moved by at most ``step`` towards ``target``."""
    if value < target:
        return min(value + step, target)
    return max(value - step, target)


@rule
def sign(value):
    """-1, 0 or +1."""
    if value > 0.0:
        return 1.0
    return -1.0 if value < 0.0 else 0.0


@rule
def clamp(value, limit):
    """``value`` between -limit and limit."""
    return min(max(value, -limit), limit)


@rule
def ground_friction(p, c, factor):
    """Slow down on the ground."""
    p.speed_ground_x = toward(p.speed_ground_x, 0.0, c.traction * factor)


@rule
def drift(p, m, c):
    """Sideways control in the air: towards the speed that the stick asks for, else friction."""
    if m.stick_x == 0.0:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        return
    if c.air_jump_action > 0.0 and c.air_jump_action <= p.action < c.air_jump_action + c.air_jumps:
        _drift_slowly(p, m, c)
        return
    target = c.air_max * m.stick_x
    if a.FALL_SPECIAL <= p.action <= a.FALL_SPECIAL_B:
        target = clamp(target, c.air_max * m.fall_drift)
    if abs(p.speed_air_x) > abs(target) and p.speed_air_x * target > 0.0:
        p.speed_air_x = toward(p.speed_air_x, target, c.air_friction)
        return
    step = c.air_acceleration + c.air_acceleration_stick * abs(m.stick_x)
    p.speed_air_x = toward(p.speed_air_x, target, step)


@rule
def _drift_slowly(p, m, c):
    """Sideways control in one of many jumps: a share of the stick's, and no acceleration without it."""
    target = c.air_max * JUMP_DRIFT * m.stick_x
    step = c.air_acceleration_stick * JUMP_DRIFT * abs(m.stick_x)
    if abs(p.speed_air_x) > abs(target) and p.speed_air_x * target > 0.0:
        step = c.air_friction
    p.speed_air_x = toward(p.speed_air_x, target, step)


@rule
def fall(p, m, c):
    """Gravity up to the falling speed, or a fast fall.

    A helpless fall that limits the drift goes on to the speed of a fast fall (doldecomp/melee, ftCo_FallSpecial.c).
    """
    limits = a.FALL_SPECIAL <= p.action <= a.FALL_SPECIAL_B and m.fall_drift != 1.0
    if m.fast_fall:
        p.speed_y = -c.fast_fall_speed
    else:
        p.speed_y = max(p.speed_y - c.gravity, -(c.fast_fall_speed if limits else c.fall_speed))


@rule
def fast_fall(p, m):
    """Start a fast fall on a flick down while falling."""
    if not m.fast_fall and p.speed_y < AT_REST and p.speed_y != 0.0 and flicked_down(m):
        m.fast_fall = 1
        m.y_age = NEVER  # the flick is used up


@rule
def is_animated(p, m, tables):
    """Whether the animation of this frame moves the player instead of speeds."""
    return 1 <= int(p.action_frame) <= tables.actions[m.character_row, p.action].num_motion


@rule
def animated_step(p, m, tables):
    """Motion (forward, up) of the animation on this frame, (0, 0) if there is none."""
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    if frame < 1 or frame > entry.num_motion:
        return 0.0, 0.0
    row = entry.first_motion + frame - 1
    return tables.points[row, 0], tables.points[row, 1]
