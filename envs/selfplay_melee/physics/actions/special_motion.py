"""How special moves move the player: what the row of each action says about its speeds.

The row's ``drive`` sets the motion: FALL (friction and gravity of the row), PATH (from the animation), FLIGHT (in a
direction taken from the stick) or FREE (as in any fall).
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.angles import cosine, norm, sine
from selfplay_melee.physics.change import enter, leave_ground
from selfplay_melee.physics.motion import clamp, drift, fall, fast_fall, ground_friction, sign, toward
from selfplay_melee.tables.layout import AFTERWARDS, ALWAYS, FALL, FLIGHT, FREE, PATH

RISEN = 1  # bit of ``MEMORY.risen`` of the moves whose row says ``once``
FAST_FRICTION = 0.03  # in the air, above the character's top speed: a constant that the game has for all


@rule
def is_special(p, c):
    """Whether the player is in a special move. Extra air jumps have numbers in that range too."""
    return p.action >= a.FIRST_SPECIAL and not is_air_jump(p, c)


@rule
def is_air_jump(p, c):
    """Whether the player is in one of the jumps of a character with more than two."""
    return c.air_jump_action > 0.0 and c.air_jump_action <= p.action < c.air_jump_action + c.air_jumps


@rule
def special_row(p, m, tables):
    """The table row of the current special action."""
    return tables.specials[m.character_row, p.action - a.FIRST_SPECIAL]


@rule
def set_speeds(p, m, row):
    """Set the initial speeds of an action."""
    m.fast_fall = 0
    if row.spends_jumps and not p.on_ground:
        p.jumps_left = 0
    if p.on_ground:
        kept = 0.0 if row.drive == PATH else p.speed_ground_x * row.keep_x
        p.speed_ground_x = kept + p.facing * row.start_x
    else:
        p.speed_air_x = p.speed_air_x * row.keep_x + p.facing * row.start_x
        p.speed_y *= row.keep_y
        if row.rise_frame == 0:
            p.speed_y += _lift(m, row)
    if row.drive == FLIGHT and row.aim_speed > 0.0:
        aim(p, m, row)


@rule
def continue_as(p, m, tables, action):
    """Start another part of a move."""
    enter(p, m, action)
    row = special_row(p, m, tables)
    if row.drive == FLIGHT and row.leaves_as == 0:  # else it begins on the ground
        leave_ground(p, m)
    p.action_frame = float(row.first)
    if row.frozen > 0:
        m.rate = 0.0
        m.duration = float(row.frozen) - 1.0
    set_speeds(p, m, row)


@rule
def _lift(m, row):
    """Upward speed that the move gives, for some moves only once before a landing."""
    speed = 0.0 if row.once and m.risen & RISEN else row.start_y
    m.risen |= row.once
    return speed


@rule
def aim(p, m, row):
    """Take a direction: that of the stick, or forwards and up to ``aim_spread`` degrees up or down.

    Actions change before the game reads this frame's inputs, so the stick of the frame before counts.
    """
    x, y = m.stick_x_before, m.stick_y_before
    if row.aim_spread > 0.0:
        angle = row.aim_spread * y
        p.speed_air_x = p.facing * row.aim_speed * cosine(angle)
        p.speed_y = row.aim_speed * sine(angle)
        if p.on_ground:
            p.speed_ground_x = p.speed_air_x
        return
    length = norm(x, y)
    m.aim_x = x / length if length > 0.0 else 0.0
    m.aim_y = y / length if length > 0.0 else 1.0
    if m.aim_x != 0.0:
        p.facing = sign(m.aim_x)
    if p.on_ground:
        m.aim_x, m.aim_y = p.facing, 0.0
        p.speed_ground_x = p.facing * (row.aim_speed + row.aim_stick * length)
        return
    speed = row.aim_speed + row.aim_stick * (length if length > 0.0 else 1.0)
    p.speed_air_x = m.aim_x * speed
    p.speed_y = m.aim_y * speed


@rule
def note_lean(p, m, row):
    """Let the stick lean the path of a move, as far as it was ever pushed, and turn the player."""
    push = (abs(m.stick_x) - row.lean_from) / (1.0 - row.lean_from)
    if 1.0 < p.action_frame <= row.lean_to and push * row.lean > abs(m.path_lean):
        m.path_lean = sign(m.stick_x) * push * row.lean
    if row.turn_frame > 0 and p.action_frame == row.turn_frame and m.stick_x != 0.0:
        p.facing = sign(m.stick_x)


@rule
def special_speed(p, m, c, tables):
    """Speeds in the air during the move."""
    row = special_row(p, m, tables)
    if row.starts and p.action_frame == 1.0:
        set_speeds(p, m, row)
    if row.drive == FREE:
        fast_fall(p, m)
        drift(p, m, c)
        fall(p, m, c)
    elif row.drive == FLIGHT:
        if p.action_frame > row.glide:
            p.speed_air_x = toward(p.speed_air_x, 0.0, row.slowing * abs(m.aim_x))
            p.speed_y = toward(p.speed_y, 0.0, row.slowing * abs(m.aim_y))
    elif p.action_frame < row.path_from:
        p.speed_air_x = toward(p.speed_air_x, 0.0, _air_friction(p, c, row))
        p.speed_y = max(p.speed_y - (row.early_gravity if row.early_gravity >= 0.0 else c.gravity), -c.fall_speed)
    elif row.drive == FALL:
        _fall(p, m, c, row)
    else:
        _path(p, m, c, row, tables)


@rule
def _fall(p, m, c, row):
    if row.decay > 0.0 and p.action_frame <= row.decay_to:
        if p.action_frame > row.aim_frame or row.aim_frame == 0:
            p.speed_y *= row.decay
            if row.aim_frame > 0:
                p.speed_air_x *= row.decay
            else:
                p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        if p.action_frame >= row.aim_frame:
            return
    drifts = row.drifts == ALWAYS or (row.drifts == AFTERWARDS and p.action_frame > row.decay_to)
    if drifts and _drift_top(row) == 1.0:
        drift(p, m, c)
    elif drifts:
        p.speed_air_x = _drifted(p, m, c, row, p.speed_air_x)
    else:
        p.speed_air_x = toward(p.speed_air_x, 0.0, _air_friction(p, c, row))
    if row.top_x > 0.0:
        p.speed_air_x = clamp(p.speed_air_x, row.top_x)
    if p.action_frame <= row.glide and m.special_frames == 0:
        return
    if row.fast_falls:
        fast_fall(p, m)
        if m.fast_fall:
            p.speed_y = -c.fast_fall_speed
            return
    if row.rise_frame > 0 and p.action_frame == row.rise_frame:
        p.speed_y = _lift(m, row)
    own = p.action_frame < row.rise_frame or 0 < row.rise_to < p.action_frame
    lowest = row.fall_speed if row.fall_speed >= 0.0 and not own else c.fall_speed
    p.speed_y = max(p.speed_y - (row.gravity if row.gravity >= 0.0 and not own else c.gravity), -lowest)


@rule
def _drifted(p, m, c, row, speed):
    """Sideways speed after one frame of the row's own drift."""
    target = c.air_max * _drift_top(row) * m.stick_x
    if abs(speed) > abs(target) and speed * target >= 0.0:
        return toward(speed, target, _air_friction(p, c, row))
    gain = row.drift_gain if row.drift_gain >= 0.0 else _drift_top(row)
    return toward(speed, target, c.air_acceleration_stick * gain * abs(m.stick_x))


@rule
def _drift_top(row):
    return row.drift_top if row.drift_top >= 0.0 else row.fall_drift


@rule
def _air_friction(p, c, row):
    """Of the row, else the character's; above its top speed a constant."""
    if row.friction >= 0.0:
        return row.friction
    return FAST_FRICTION if abs(p.speed_air_x) > c.air_max else c.air_friction


@rule
def _path(p, m, c, row, tables):
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    if frame > entry.num_motion:
        _fall(p, m, c, row)
        return
    x = p.facing * tables.points[entry.first_motion + frame - 1, 0] if frame > 0 else 0.0
    y = tables.points[entry.first_motion + frame - 1, 1] if frame > 0 else 0.0
    if m.path_lean != 0.0:
        cos, sin = cosine(m.path_lean), sine(m.path_lean)
        x, y = x * cos + y * sin, y * cos - x * sin
    p.speed_y = y
    x *= pace(p, m, c, tables)
    if row.drifts == ALWAYS:  # on top of the path
        before = p.facing * tables.points[entry.first_motion + frame - 2, 0] if frame > 1 else 0.0
        x += _drifted(p, m, c, row, p.speed_air_x - before)
    p.speed_air_x = x


@rule
def pace(p, m, c, tables):
    """Share of the speed of the animation that is left after the move has hit."""
    if m.hit_groups == 0 or not is_special(p, c):
        return 1.0
    row = special_row(p, m, tables)
    return row.slowed if row.slowed > 0.0 else 1.0


@rule
def ground_speed(p, m, c, tables):
    """Speed on the ground during the move."""
    row = special_row(p, m, tables)
    if row.starts and p.action_frame == 1.0:
        set_speeds(p, m, row)
    if row.drive == FLIGHT:
        if p.action_frame > row.glide:
            p.speed_ground_x = toward(p.speed_ground_x, 0.0, row.slowing)
    elif p.action_frame < row.again_frame:
        return
    elif row.friction >= 0.0:
        p.speed_ground_x = toward(p.speed_ground_x, 0.0, row.friction)
    else:
        ground_friction(p, c, 2.0 if abs(p.speed_ground_x) > c.walk_max else 1.0)
