"""Special moves, driven by table rows: the motion of each action and the action that follows.

A move is a chain of actions. The row's ``drive`` sets the motion: FALL (friction and gravity of the row), PATH (from
the animation), FLIGHT (in a direction taken from the stick) or FREE (as in any fall).
"""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_B
from envs.melee.physics.change import enter, leave_ground, rest, start_fall_special
from envs.melee.physics.inputs import jump_pressed
from envs.melee.physics.motion import drift, fall, fast_fall, sign, toward
from envs.melee.tables.layout import FALL, FLIGHT, FREE, HELD, HELPLESS, PATH, PRESSED

UP_STICK = 0.55  # from here on a B press is the up or down special
SIDE_STICK = 0.6
NOTHING = 0


@rule
def is_special(p, c):
    """Whether the player is in a special move. Extra air jumps have numbers in that range too."""
    return p.action >= a.FIRST_SPECIAL and not is_air_jump(p, c)


@rule
def is_air_jump(p, c):
    """Whether the player is in one of the jumps of a character with more than two."""
    return c.air_jump_action > 0.0 and c.air_jump_action <= p.action < c.air_jump_action + c.air_jumps


@rule
def up_special_asked(m):
    """B with the stick up."""
    return m.pressed & BUTTON_B != 0 and m.stick_y >= UP_STICK


@rule
def start_special(p, m, c):
    """Start the special move that B and the stick ask for; False if there is none."""
    if m.pressed & BUTTON_B == 0:
        return False
    if m.stick_y >= UP_STICK:
        action = c.up_ground if p.on_ground else c.up_air
    elif m.stick_y <= -UP_STICK:
        action = c.down_ground if p.on_ground else c.down_air
    elif abs(m.stick_x) >= SIDE_STICK:
        action = c.side_ground if p.on_ground else c.side_air
        if action > 0.0:
            p.facing = sign(m.stick_x)
    else:
        action = c.neutral_ground if p.on_ground else c.neutral_air
    if action == 0.0:
        return False
    enter(p, m, int(action))
    return True


@rule
def special_row(p, m, tables):
    """The table row of the current special action."""
    return tables.specials[m.character_row, p.action - a.FIRST_SPECIAL]


@rule
def go_on(p, m, tables):
    """One frame of a special move: continue, repeat, or start the action that follows."""
    row = special_row(p, m, tables)
    if row.repeats == PRESSED and m.pressed & BUTTON_B:
        m.jab_again = 1
    if row.aim_frame > 0 and p.action_frame == row.aim_frame:
        _aim(p, m, row)
    m.special_frames += 1
    let_go = row.repeats == HELD and m.held & BUTTON_B == 0 and m.special_frames > row.least
    if not let_go and not _is_over(p, m, row, tables):
        return
    if not let_go and (row.repeats == HELD or (row.repeats == PRESSED and m.jab_again)):
        _continue(p, m, tables, p.action)
        return
    m.special_frames = 0
    following = row.next_ground if p.on_ground else row.next_air
    if following == HELPLESS:
        start_fall_special(p, m, row.landing_lag, row.fall_drift)
    elif following == NOTHING:
        rest(p, m)
    else:
        _continue(p, m, tables, following)


@rule
def _is_over(p, m, row, tables):
    if row.frozen > 0:
        m.duration -= 1.0
        return m.duration < 0.0
    return p.action_frame > tables.actions[m.character_row, p.action].frames


@rule
def _continue(p, m, tables, action):
    enter(p, m, action)
    row = special_row(p, m, tables)
    if row.drive == FLIGHT:
        leave_ground(p, m)
    p.action_frame = float(row.first)
    if row.frozen > 0:
        m.rate = 0.0
        m.duration = float(row.frozen) - 1.0
    _begin(p, m, row)


@rule
def _begin(p, m, row):
    """Set the initial speeds of an action."""
    m.fast_fall = 0
    if p.on_ground:
        if row.start_x != 0.0:
            p.speed_ground_x = p.facing * row.start_x
        elif row.drive == PATH:
            p.speed_ground_x = 0.0
    else:
        p.speed_air_x = p.speed_air_x * row.keep_x + p.facing * row.start_x
        p.speed_y = p.speed_y * row.keep_y + row.start_y
    if row.drive == FLIGHT and row.aim_speed > 0.0:
        _aim(p, m, row)


@rule
def _aim(p, m, row):
    """Take a direction: that of the stick, or forwards and up to ``aim_spread`` degrees up or down.

    Actions change before the game reads this frame's inputs, so the stick of the frame before counts.
    """
    x, y = m.stick_x_before, m.stick_y_before
    if row.aim_spread > 0.0:
        angle = math.radians(row.aim_spread * y)
        p.speed_air_x = p.facing * row.aim_speed * math.cos(angle)
        p.speed_y = row.aim_speed * math.sin(angle)
        if p.on_ground:
            p.speed_ground_x = p.speed_air_x
        return
    length = math.sqrt(x * x + y * y)
    m.aim_x = x / length if length > 0.0 else 0.0
    m.aim_y = y / length if length > 0.0 else 1.0
    if m.aim_x != 0.0:
        p.facing = sign(m.aim_x)
    p.speed_air_x = m.aim_x * row.aim_speed
    p.speed_y = m.aim_y * row.aim_speed


@rule
def jump_cancels(p, m, tables):
    """Whether a jump is asked for that can end this action."""
    row = special_row(p, m, tables)
    return row.jump_from != 0 and p.action_frame >= row.jump_from and jump_pressed(m)


@rule
def special_speed(p, m, c, tables):
    """Speeds in the air during the move."""
    row = special_row(p, m, tables)
    if row.starts and p.action_frame == 1.0:
        _begin(p, m, row)
    if row.drive == FREE:
        fast_fall(p, m)
        drift(p, m, c)
        fall(p, m, c)
    elif row.drive == FLIGHT:
        if p.action_frame > row.glide:
            p.speed_air_x = toward(p.speed_air_x, 0.0, row.slowing * abs(m.aim_x))
            p.speed_y = toward(p.speed_y, 0.0, row.slowing * abs(m.aim_y))
    elif row.drive == FALL or p.action_frame < row.path_from:
        _fall(p, m, c, row)
    else:
        _path(p, m, c, row, tables)


@rule
def _fall(p, m, c, row):
    if row.decay > 0.0 and p.action_frame <= row.decay_to:
        if p.action_frame > row.aim_frame:
            p.speed_y *= row.decay
            if row.aim_frame > 0:
                p.speed_air_x *= row.decay
            else:
                p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        if p.action_frame >= row.aim_frame:
            return
    if row.drifts:
        drift(p, m, c)
    else:
        p.speed_air_x = toward(p.speed_air_x, 0.0, row.friction if row.friction >= 0.0 else c.air_friction)
    if p.action_frame <= row.glide:
        return
    if row.fast_falls:
        fast_fall(p, m)
        if m.fast_fall:
            p.speed_y = -c.fast_fall_speed
            return
    lowest = row.fall_speed if row.fall_speed >= 0.0 else c.fall_speed
    p.speed_y = max(p.speed_y - (row.gravity if row.gravity >= 0.0 else c.gravity), -lowest)


@rule
def _path(p, m, c, row, tables):
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    if frame > entry.num_motion:
        _fall(p, m, c, row)
        return
    x = tables.points[entry.first_motion + frame - 1, 0] if frame > 0 else 0.0
    p.speed_y = tables.points[entry.first_motion + frame - 1, 1] if frame > 0 else 0.0
    if row.drifts:
        drift(p, m, c)
    else:
        p.speed_air_x = x * p.facing


@rule
def takes_ledge(p, m, tables):
    """Whether this part of the move can grab a ledge."""
    row = special_row(p, m, tables)
    return row.grabs_from > 0 and p.action_frame >= row.grabs_from
