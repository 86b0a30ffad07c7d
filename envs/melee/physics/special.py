"""Special moves, driven by table rows: the motion of each action and the action that follows.

A move is a chain of actions. The row's ``drive`` sets the motion: FALL (friction and gravity of the row), PATH (from
the animation), FLIGHT (in a direction taken from the stick) or FREE (as in any fall).
"""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_B
from envs.melee.physics.change import enter, leave_ground, lock_hull, rest, start_fall, start_fall_special
from envs.melee.physics.inputs import DROP_STICK, TILT, jump_pressed
from envs.melee.physics.motion import drift, fall, fast_fall, ground_friction, sign, toward
from envs.melee.physics.stage import on_platform
from envs.melee.tables.layout import ALWAYS, FALL, FLIGHT, FREE, FREE_FALL, HELD, HELPLESS, PATH, PRESSED

# Thresholds and times are the game's common constants, as melee-sim-light lists them.
UP_STICK = 0.55  # from here on a B press is the up or down special
SIDE_STICK = 0.6
REVERSE_AGE = 20  # frames after the stick pointed back for which a neutral special in the air turns around
PASS_AGE = 6  # frames within which a flick down passes a platform
FAST_FRICTION = 0.03  # in the air, above the character's top speed
LEAN_STICK = 0.5
MOST_STORED = 6  # shots
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
        if action > 0.0 and not p.on_ground and m.side_age < REVERSE_AGE and m.side * p.facing < 0.0:
            p.facing = -p.facing
    if action == 0.0:
        return False
    enter(p, m, int(action))
    begin_move(m)
    return True


@rule
def begin_move(m):
    """Forget what the special move before left; one shot is always there."""
    m.special_frames = 0
    m.b_let_go = 0
    m.stored = max(m.stored, 1)
    m.lean = 0.0


@rule
def store_shot(m):
    """Store one shot more."""
    m.stored = min(m.stored + 1, MOST_STORED)


@rule
def special_row(p, m, tables):
    """The table row of the current special action."""
    return tables.specials[m.character_row, p.action - a.FIRST_SPECIAL]


@rule
def go_on(p, m, tables):
    """One frame of a special move: continue, repeat, or start the action that follows; then the inputs are asked."""
    row = special_row(p, m, tables)
    if row.aim_frame > 0 and p.action_frame == row.aim_frame:
        _aim(p, m, row)
    follow_move(m, row)
    note_lean(p, m, row)
    if p.on_ground and row.path_from > 0 and p.action_frame >= row.path_from:
        leave_ground(p, m)
    if _let_go(m, row):
        _follow(p, m, tables, row)
    elif _is_over(p, m, row, tables):
        if row.repeats == HELD or (row.repeats == PRESSED and m.jab_again):
            _continue(p, m, tables, p.action)
            if row.stores:
                store_shot(m)
        else:
            _follow(p, m, tables, row)
    if p.action >= a.FIRST_SPECIAL:
        _answer(p, m, tables, special_row(p, m, tables))


@rule
def follow_move(m, row):
    """Note on each frame of a move how long it has lasted and whether B was let go."""
    if row.least > 0:
        m.special_frames += 1
    if m.held & BUTTON_B == 0:
        m.b_let_go = 1


@rule
def note_lean(p, m, row):
    """Let the stick lean the path of a move, as far as it was ever pushed, and turn the player."""
    push = (abs(m.stick_x) - LEAN_STICK) / (1.0 - LEAN_STICK)
    if 1.0 < p.action_frame <= row.lean_to and push * row.lean > abs(m.lean):
        m.lean = sign(m.stick_x) * push * row.lean
    if row.turn_frame > 0 and p.action_frame == row.turn_frame and m.stick_x != 0.0:
        p.facing = sign(m.stick_x)


@rule
def note_press(p, m, row):
    """Note a press that makes the action repeat, or that comes too early for a combo."""
    if (row.repeats == PRESSED and m.pressed & BUTTON_B and p.action_frame >= row.press_from) or (
        row.combo_side > 0 and m.pressed & (BUTTON_A | BUTTON_B) and p.action_frame < row.press_from
    ):
        m.jab_again = 1


@rule
def _let_go(m, row):
    return row.repeats == HELD and row.least > 0 and m.b_let_go and m.special_frames >= row.least


@rule
def _follow(p, m, tables, row):
    """Start what follows an action."""
    following = row.next_ground if p.on_ground and not _takes_off(p, m, tables, row) else row.next_air
    if following == HELPLESS:
        start_fall_special(p, m, row.landing_lag, row.fall_drift)
    elif following == NOTHING:
        rest(p, m)
    else:
        _continue(p, m, tables, following)
        after = special_row(p, m, tables)
        if row.least > 0 and _let_go(m, after):  # the time ran out meanwhile
            _follow_on(p, m, tables, after)


@rule
def _takes_off(p, m, tables, row):
    """Whether a flight along the ground is not asked for: the stick is at rest, up, or down on a platform."""
    if row.next_ground == NOTHING:
        return False
    if tables.specials[m.character_row, row.next_ground - a.FIRST_SPECIAL].drive != FLIGHT:
        return False
    x, y = m.stick_x_before, m.stick_y_before
    return y > 0.0 or (x == 0.0 and y == 0.0) or (on_platform(m) and y <= DROP_STICK)


@rule
def _follow_on(p, m, tables, row):
    _continue(p, m, tables, row.next_ground if p.on_ground else row.next_air)


@rule
def _answer(p, m, tables, row):
    """What the inputs change: a shot more, the next part of a combo, an early end, a turn."""
    note_press(p, m, row)
    if (row.cut and m.pressed & BUTTON_B) or (row.repeats == HELD and row.least == 0 and not m.held & BUTTON_B):
        _follow(p, m, tables, row)
    elif row.cancels_as > 0 and m.trigger > 0.0 and m.trigger_before == 0.0:
        _continue(p, m, tables, row.cancels_as)
    elif row.turns_as > 0 and m.stick_x * p.facing <= -TILT:
        _continue(p, m, tables, row.turns_as)
        p.facing = -p.facing
    elif row.combo_side > 0 and _combo_pressed(p, m, row):
        _continue(p, m, tables, _combo(m, row))


@rule
def _combo_pressed(p, m, row):
    """Whether A or B asks for the next part in time, and not after a press that came too early."""
    in_time = row.press_from <= p.action_frame and (row.press_to == 0 or p.action_frame <= row.press_to)
    return in_time and not m.jab_again and m.pressed & (BUTTON_A | BUTTON_B) != 0


@rule
def _combo(m, row):
    if row.combo_up > 0 and m.stick_y > UP_STICK:
        return row.combo_up
    return row.combo_down if row.combo_down > 0 and m.stick_y < -UP_STICK else row.combo_side


@rule
def show_reflection(p, m, tables, side):
    """A laser was sent back to ``side``: the player turns there and shows it."""
    row = special_row(p, m, tables)
    if row.reflects >= a.FIRST_SPECIAL:
        enter(p, m, row.reflects)
        p.action_frame = 0.0
        p.facing = side


@rule
def passes_platform(p, m, tables):
    """Whether a flick down drops through the platform, and the move goes on in the air."""
    row = special_row(p, m, tables)
    return row.passes_as > 0 and on_platform(m) and m.stick_y <= DROP_STICK and m.y_age < PASS_AGE


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
    if row.drive == FLIGHT and row.leaves_as == NOTHING:  # else it begins on the ground
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
    if row.spends_jumps and not p.on_ground:
        p.jumps_left = 0
    if p.on_ground:
        kept = 0.0 if row.drive == PATH else p.speed_ground_x * row.keep_x
        p.speed_ground_x = kept + p.facing * row.start_x
    else:
        p.speed_air_x = p.speed_air_x * row.keep_x + p.facing * row.start_x
        p.speed_y = p.speed_y * row.keep_y + (0.0 if row.once and m.risen else row.start_y)
        m.risen |= row.once
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
    if p.on_ground:
        m.aim_x, m.aim_y = p.facing, 0.0
        p.speed_ground_x = p.facing * row.aim_speed
        return
    speed = row.aim_speed + row.aim_stick * (length if length > 0.0 else 1.0)
    p.speed_air_x = m.aim_x * speed
    p.speed_y = m.aim_y * speed


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
    elif p.action_frame < row.path_from:
        p.speed_air_x = toward(p.speed_air_x, 0.0, _air_friction(p, c, row))
        fall(p, m, c)
    elif row.drive == FALL:
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
    if row.drifts and row.fall_drift == 1.0:
        drift(p, m, c)
    elif row.drifts and m.stick_x != 0.0:
        step = c.air_acceleration_stick * row.fall_drift * abs(m.stick_x)
        p.speed_air_x = toward(p.speed_air_x, c.air_max * row.fall_drift * m.stick_x, step)
    else:
        p.speed_air_x = toward(p.speed_air_x, 0.0, _air_friction(p, c, row))
    if p.action_frame <= row.glide and m.special_frames == 0:
        return
    if row.fast_falls:
        fast_fall(p, m)
        if m.fast_fall:
            p.speed_y = -c.fast_fall_speed
            return
    lowest = row.fall_speed if row.fall_speed >= 0.0 else c.fall_speed
    p.speed_y = max(p.speed_y - (row.gravity if row.gravity >= 0.0 else c.gravity), -lowest)


@rule
def _air_friction(p, c, row):
    """Of the row, else the character's; above its top speed a constant."""
    if row.friction >= 0.0:
        return row.friction
    return FAST_FRICTION if abs(p.speed_air_x) > c.air_max else c.air_friction


@rule
def ground_speed(p, m, c, tables):
    """Speed on the ground during the move."""
    row = special_row(p, m, tables)
    if row.starts and p.action_frame == 1.0:
        _begin(p, m, row)
    if row.drive == FLIGHT:
        if p.action_frame > row.glide:
            p.speed_ground_x = toward(p.speed_ground_x, 0.0, row.slowing)
    elif row.friction >= 0.0:
        p.speed_ground_x = toward(p.speed_ground_x, 0.0, row.friction)
    else:
        ground_friction(p, c, 2.0 if abs(p.speed_ground_x) > c.walk_max else 1.0)


@rule
def leaves_edge(p, m, tables):
    """Whether the move does not stop at an edge."""
    return special_row(p, m, tables).leaves_as != NOTHING


@rule
def leave_edge(p, m, tables):
    """Go on in the air."""
    row = special_row(p, m, tables)
    action, frame = row.leaves_as, p.action_frame
    leave_ground(p, m)
    if row.spends_jumps:
        p.jumps_left = 0
    if action == HELPLESS:
        start_fall_special(p, m, row.landing_lag, row.fall_drift)
    elif action == FREE_FALL:
        start_fall(p, m)
    else:
        p.action, p.action_frame = action, frame


@rule
def slides_on(p, m, c, tables):
    """A flight that meets a floor goes on along it."""
    if p.action < a.FIRST_SPECIAL or is_air_jump(p, c) or not special_row(p, m, tables).slides:
        return False
    lock_hull(m)
    return True


@rule
def _path(p, m, c, row, tables):
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    if frame > entry.num_motion:
        _fall(p, m, c, row)
        return
    x = p.facing * tables.points[entry.first_motion + frame - 1, 0] if frame > 0 else 0.0
    y = tables.points[entry.first_motion + frame - 1, 1] if frame > 0 else 0.0
    if m.lean != 0.0:
        lean = math.radians(m.lean)
        x, y = x * math.cos(lean) + y * math.sin(lean), y * math.cos(lean) - x * math.sin(lean)
    p.speed_y = y
    if row.drifts == ALWAYS:
        drift(p, m, c)
    else:
        p.speed_air_x = x


@rule
def takes_ledge(p, m, tables):
    """Whether this part of the move can grab a ledge."""
    row = special_row(p, m, tables)
    return row.grabs_from > 0 and p.action_frame >= row.grabs_from
