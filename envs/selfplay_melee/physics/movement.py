"""One frame of motion of one player: change the speeds, move and meet the stage."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions import air, edge, grab, ledge, run, special, special_motion
from selfplay_melee.physics.actions.landing import land
from selfplay_melee.physics.change import hull_height, leave_ground, start_fall
from selfplay_melee.physics.hits import damage
from selfplay_melee.physics.inputs import PASS_STICK
from selfplay_melee.physics.motion import animated_step, clamp, drift, fall, fast_fall, is_animated, toward
from selfplay_melee.physics.moves import inhale
from selfplay_melee.physics.moves.calls import own_speed
from selfplay_melee.physics.stages.stage import (
    along_slope,
    fly,
    is_sloped,
    past_edge,
    slope_at,
    surface_height,
    surface_left,
    surface_right,
)
from selfplay_melee.physics.stages.wind import wind_at

SAME_HEIGHT = 1e-3  # of the floor before and after a move


@rule
def is_placed(p):
    """Whether something other than speeds sets the position."""
    return p.action <= a.REBIRTH_WAIT or grab.is_held(p) or a.CLIFF_CATCH <= p.action <= a.CLIFF_WAIT


@rule
def is_climbing(p):
    """On the way up from a ledge."""
    jumping = p.action == a.CLIFF_JUMP_SLOW_2 or p.action == a.CLIFF_JUMP_QUICK_2
    return a.CLIFF_CLIMB_SLOW <= p.action <= a.CLIFF_JUMP_QUICK_2 and not jumping


@rule
def move(p, m, c, s, tables):
    """Change the speeds by the rules of the action, then move and collide with the stage."""
    m.recoil = toward(m.recoil, 0.0, damage.RECOIL_FRICTION * c.traction)
    m.hull_lock = max(m.hull_lock - 1, 0)
    if is_placed(p):
        return
    if is_climbing(p):
        ledge.climb_place(p, m, c, s, tables)
    elif p.on_ground:
        _move_on_ground(p, m, c, s, tables)
    else:
        _move_in_air(p, m, c, s, tables)


@rule
def _move_on_ground(p, m, c, s, tables):
    before = p.speed_ground_x
    animated = is_animated(p, m, tables)
    if animated:
        pace = special_motion.pace(p, m, c, tables)
        p.speed_ground_x = animated_step(p, m, tables)[0] * p.facing * pace
    elif special_motion.is_special(p, c):
        special_motion.ground_speed(p, m, c, tables)
        own_speed(p, m, c, tables)
    else:
        run.ground_speed(p, m, c)
    # The first frame of a dash still moves with the speed before it.
    speed = before if p.action == a.DASH and p.action_frame == 1.0 else p.speed_ground_x
    damage.slow_launch(p, c)
    p.speed_air_x = speed
    x = p.x + speed + p.speed_attack_x + m.recoil
    x += wind_at(m, x, p.y)
    if is_sloped(m, s):
        x = along_slope(s, p.x, x - p.x)
    side = past_edge(m, s, x)
    if side == 0.0:
        p.x = x
    else:
        _meet_edge(p, m, c, s, tables, x, side, animated)
    if p.on_ground:
        p.y = surface_height(m, s, m.surface, p.x)


@rule
def _meet_edge(p, m, c, s, tables, x, side, animated):
    """A player on the ground goes past an edge to ``x``: it falls off or stops there."""
    outcome = edge.STOPS if animated and p.hitstun <= 0.0 else edge.edge_outcome(p, m, side)
    if special_motion.is_special(p, c) and special.leaves_edge(p, m, tables):
        p.x = x
        special.leave_edge(p, m, tables)
    elif outcome == edge.FALLS:
        slope = slope_at(s, p.x) if is_sloped(m, s) else 0.0
        p.y += slope * (x - p.x)
        p.x = x
        if p.hitstun > 0.0:
            leave_ground(p, m)
        else:
            start_fall(p, m)
            p.speed_y = slope * p.speed_air_x / math.sqrt(1.0 + slope * slope)  # it goes on along the slope
            p.speed_air_x = clamp(p.speed_air_x, c.air_max)
    else:
        p.x = surface_right(m, s, m.surface) if side > 0.0 else surface_left(m, s, m.surface)
        edge.stop_at_edge(p, m, outcome)


@rule
def _move_in_air(p, m, c, s, tables):
    _air_speed(p, m, c, tables)
    damage.slow_launch(p, c)
    dx = p.speed_air_x + p.speed_attack_x + m.recoil + m.shift_x
    dy = p.speed_y + p.speed_attack_y + m.shift_y
    dx += wind_at(m, p.x + dx, p.y + dy)
    m.shift_x = 0.0
    m.shift_y = 0.0
    before = p.speed_y
    m.falls_through = 1 if falls_through(p, m) else 0
    hull = hull_height(p, m, tables)
    start = p.y
    surface = fly(p, m, s, dx, dy, hull)
    if surface >= 0 and not special.slides_on(p, m, c, tables):
        if p.action == a.AIR_DODGE and m.age == 0 and abs(p.y - start) < SAME_HEIGHT:
            p.x -= dx * (1.0 - c.wavedash_reach)  # straight out of the jump squat
        land(p, m, c, s, tables, surface, before)
    elif p.hitlag <= 0.0:
        ledge.try_grab(p, m, c, s, tables)


@rule
def falls_through(p, m):
    """Whether holding down keeps platforms from holding the player: in jumps and falls (their ``Coll`` in ftCo_*.c)."""
    action = p.action
    jumping = a.JUMP_F <= action <= a.FALL_SPECIAL_B or action == a.CLIFF_JUMP_SLOW_2 or action == a.CLIFF_JUMP_QUICK_2
    return m.stick_y <= PASS_STICK and jumping


@rule
def _air_speed(p, m, c, tables):
    action = p.action
    if action == a.AIR_DODGE:
        air.air_dodge_speed(p, m, c)
    elif special_motion.is_special(p, c):
        special_motion.special_speed(p, m, c, tables)
        own_speed(p, m, c, tables)
    elif action == a.THROWN_STAR or action == a.THROWN_COPY_STAR:
        inhale.fly_out(p, m)
    elif p.hitstun > 0.0 or a.SHIELD_BREAK_FLY <= action <= a.SHIELD_BREAK_FALL:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        fall(p, m, c)
    else:
        from_ground = a.JUMP_F <= action <= a.JUMP_B and p.action_frame == 0.0
        from_ledge = (action == a.CLIFF_JUMP_SLOW_2 or action == a.CLIFF_JUMP_QUICK_2) and p.action_frame == 1.0
        if from_ground or from_ledge:
            return  # the first frame of a jump moves with its launch speed; of both as replays show it
        fast_fall(p, m)
        drift(p, m, c)
        if not _rises_by_animation(p, m, tables):
            fall(p, m, c)


@rule
def _rises_by_animation(p, m, tables):
    """A double jump whose vertical speeds are a path of the tables (Mewtwo's)."""
    if not a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B or m.fast_fall:
        return False
    frame = int(p.action_frame)
    entry = tables.actions[m.character_row, p.action]
    if entry.num_motion == 0 or frame > entry.num_motion:
        return False
    p.speed_y = tables.points[entry.first_motion + frame - 1, 1] if frame > 0 else 0.0
    return True
