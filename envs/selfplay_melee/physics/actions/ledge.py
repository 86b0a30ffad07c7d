"""Ledges: grabbing, hanging and the ways back up."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_Z
from selfplay_melee.physics.actions.special import ledge_reach, takes_ledge
from selfplay_melee.physics.actions.special_motion import is_special
from selfplay_melee.physics.angles import TAN_50
from selfplay_melee.physics.change import enter, finished, lock_hull, start_fall
from selfplay_melee.physics.inputs import jump_pressed
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.stages.stage import surface_height

HELD_DOWN = 0.66  # the stick this far down takes no ledge
CATCH_FRAMES = 7.0
INTANGIBLE_FRAMES = 37.0  # from the grab on: 30 of them after the catch
REGRAB_FRAMES = 29.0  # before a ledge can be taken again
OVER_FLOOR = 0.05  # units under the floor from which a climb stands on it
LONGEST_HANG, LONGEST_SLOW_HANG = 640.0, 480.0
SLOW_PERCENT = 100.0  # hanging is shorter and getting up slower from here on
STEEP_STICK = TAN_50  # of the stick, from which up and down count and sideways does not


@rule
def can_grab(p, m, c, tables):
    """Whether the player's action can grab a ledge."""
    if p.on_ground or m.ledge_lock > 0.0 or m.stick_y <= -HELD_DOWN:
        return False
    if p.speed_y + p.speed_attack_y >= 0.0:
        return False
    if is_special(p, c):
        return takes_ledge(p, m, tables)
    return a.JUMP_F <= p.action <= a.DAMAGE_FALL or p.action == a.PLATFORM_DROP


@rule
def try_grab(p, m, c, s, tables):
    """Grab the ledge if it is in reach, in front and free; whether it was grabbed."""
    if not can_grab(p, m, c, tables):
        return False
    side = sign(p.x)
    if not _reaches(p, m, c, s, tables):
        return False
    if side == 0.0 or p.facing == side or m.rival_ledge == int(side):
        return False
    enter(p, m, a.CLIFF_CATCH)
    m.ledge_grabs += 1
    lock_hull(m)
    m.ledge = int(side)
    m.intangible = INTANGIBLE_FRAMES
    p.jumps_left = m.air_jumps
    p.hitstun = 0.0
    m.fast_fall = 0
    m.risen = 0
    m.ledge_ready = 0
    _hang(p, m, c, s, tables)
    return True


@rule
def _reaches(p, m, c, s, tables):
    """Whether the ledge lies in the box that spans the frame's way (doldecomp/melee, mpcoll.c)."""
    near, far = abs(p.x), m.before_x * sign(p.x)
    edge = s.surface_right[0]
    top = max(s.floor_y[0], s.floor_y[1])  # of the whole floor next to the edge
    low, high = min(p.y, m.before_y), max(p.y, m.before_y)
    wide = ledge_reach(p, m, c, tables)
    if min(near, far) > edge + wide or max(near, far) < edge:
        return False
    return top - low >= c.ledge_reach_low and top - high <= c.ledge_reach_high


@rule
def _hang(p, m, c, s, tables):
    """Position while hanging, or on the way there; each motion of a catch leads to the next frame."""
    x, y = 0.0, 0.0
    if p.action == a.CLIFF_CATCH:
        entry = tables.actions[m.character_row, a.CLIFF_CATCH]
        for i in range(int(p.action_frame) - 1, entry.num_motion):
            x += tables.points[entry.first_motion + i, 0]
            y += tables.points[entry.first_motion + i, 1]
    p.x = m.ledge * (s.surface_right[0] + c.hang_x + x)
    p.y = s.ledge_y - c.hang_y - y
    p.speed_air_x = 0.0
    p.speed_y = 0.0
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0


@rule
def hang(p, m, c, s, tables):
    """Hang and wait for a new input."""
    if p.action == a.CLIFF_CATCH:
        if p.action_frame <= CATCH_FRAMES:
            _hang(p, m, c, s, tables)
            return
        enter(p, m, a.CLIFF_WAIT)
    _hang(p, m, c, s, tables)
    slow = p.percent >= SLOW_PERCENT
    if m.pressed & (BUTTON_A | BUTTON_B | BUTTON_Z):
        enter(p, m, a.CLIFF_ATTACK_SLOW if slow else a.CLIFF_ATTACK_QUICK)
    elif m.trigger > 0.0 and m.trigger_before == 0.0:
        enter(p, m, a.CLIFF_ROLL_SLOW if slow else a.CLIFF_ROLL_QUICK)
    elif jump_pressed(m):
        enter(p, m, a.CLIFF_JUMP_SLOW_1 if slow else a.CLIFF_JUMP_QUICK_1)
    elif is_neutral(m):
        m.ledge_ready = 1
    elif m.ledge_ready:
        if _wants_up(m):
            enter(p, m, a.CLIFF_CLIMB_SLOW if slow else a.CLIFF_CLIMB_QUICK)
        else:
            let_go(p, m)
    if p.action == a.CLIFF_WAIT and p.action_frame > (LONGEST_SLOW_HANG if slow else LONGEST_HANG):
        let_go(p, m)


@rule
def is_neutral(m):
    """Whether both sticks are in the middle."""
    return m.stick_x == 0.0 and m.stick_y == 0.0 and m.c_x == 0.0 and m.c_y == 0.0


@rule
def _wants_up(m):
    """Whether the stick, or else the c-stick, points up or to the stage instead of down or away."""
    by_stick = m.stick_x != 0.0 or m.stick_y != 0.0
    x, y = (m.stick_x, m.stick_y) if by_stick else (m.c_x, m.c_y)
    if abs(y) > STEEP_STICK * abs(x):
        return y > 0.0
    return -m.ledge * x >= 0.0


@rule
def let_go(p, m):
    """Drop from the ledge."""
    m.ledge = 0
    m.ledge_lock = REGRAB_FRAMES
    start_fall(p, m)


@rule
def climb(p, m, c, tables):
    """Getting up, rolling or attacking from the ledge; the animation moves the player."""
    if not finished(p, m, tables):
        return
    m.ledge = 0
    m.ledge_lock = REGRAB_FRAMES
    if p.action == a.CLIFF_JUMP_SLOW_1 or p.action == a.CLIFF_JUMP_QUICK_1:
        enter(p, m, p.action + 1)
        p.on_ground = 0
        m.surface = -1
        p.speed_y = c.ledge_jump_y
        p.speed_air_x = c.ledge_jump_x * p.facing
    else:
        enter(p, m, a.WAIT)


@rule
def climb_place(p, m, c, s, tables):
    """Position on this frame of a climb: its animation starts at the hanging place; over the floor it stands."""
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    x, y = c.hang_x, -c.hang_y
    if entry.num_motion == 0:  # a jump whose path is not in the tables: straight up
        y += c.hang_y * min(p.action_frame / entry.frames, 1.0)
    for i in range(min(frame, entry.num_motion)):
        x -= tables.points[entry.first_motion + i, 0]
        y += tables.points[entry.first_motion + i, 1]
    p.x = m.ledge * (s.surface_right[0] + x)
    p.y = s.ledge_y + y
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    if p.on_ground or (y >= -OVER_FLOOR and x <= 0.0):
        _stand(p, m, s)


@rule
def _stand(p, m, s):
    """Stand on the main floor at the end of a climb."""
    if not p.on_ground:
        p.on_ground = 1
        m.surface = 0
        p.jumps_left = m.air_jumps + 1
        p.speed_ground_x = 0.0
    p.y = surface_height(m, s, 0, p.x)
