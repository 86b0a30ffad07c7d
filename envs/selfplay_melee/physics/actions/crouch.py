"""Crouching down, staying down, rising, and falling through a platform."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.attack import ground_attack
from selfplay_melee.physics.actions.ground import action_options, flick_options, guard_options, walk_option
from selfplay_melee.physics.actions.special import UP_STICK, start_special
from selfplay_melee.physics.change import enter, leave_ground
from selfplay_melee.physics.inputs import DROP_AGE, DROP_STICK, STAY_DOWN_STICK
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.motion import clamp
from selfplay_melee.physics.stages.stage import on_platform

DROP_FRAMES = 2  # from the flick down until the platform lets go of a crouching player
DROP_SPEED = -0.5


@rule
def squat(p, m, c):
    """Crouching down; a flick drops through a platform."""
    if p.action_frame > c.squat_frames:
        enter(p, m, a.SQUAT_WAIT)
        squat_wait(p, m, c)
        return
    if action_options(p, m, c):
        return
    if m.drop_in > 0:
        m.drop_in -= 1
        if m.drop_in == 0 and on_platform(m):
            drop_through(p, m, c)
    elif flicked_through(m):
        m.drop_in = DROP_FRAMES


@rule
def squat_wait(p, m, c):
    """Staying down."""
    if _squat_actions(p, m, c) or flick_options(p, m):
        return
    if m.stick_y > STAY_DOWN_STICK:
        enter(p, m, a.SQUAT_RISE)


@rule
def squat_rise(p, m, c):
    """Rising from a crouch."""
    if p.action_frame >= c.squat_rise_frames:
        enter(p, m, a.WAIT)
    elif not _squat_actions(p, m, c):
        walk_option(p, m, c)


@rule
def _squat_actions(p, m, c):
    """A crouch allows no grab, and only the up and the down special."""
    if abs(m.stick_y) >= UP_STICK and start_special(p, m, c):
        return True
    return ground_attack(p, m) or guard_options(p, m, c)


@rule
def drop_through(p, m, c):
    """Fall through the platform stood on."""
    surface = m.surface
    leave_ground(p, m)
    p.speed_air_x = clamp(p.speed_air_x, c.air_max)
    enter(p, m, a.PLATFORM_DROP)
    p.speed_y = DROP_SPEED
    m.y_age = NEVER  # the same flick does not make the fall fast
    m.drop_from = surface


@rule
def flicked_through(m):
    """A flick down on a platform, which drops through it out of a crouch or a shield."""
    return m.stick_y <= DROP_STICK and m.y_age < DROP_AGE and on_platform(m)
