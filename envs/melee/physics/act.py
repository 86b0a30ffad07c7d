"""One frame of one player: decide, change speeds, move."""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.physics import (
    air,
    attack,
    crouch,
    damage,
    death,
    down,
    edge,
    grab,
    ground,
    ledge,
    run,
    shield,
    special,
    special_motion,
)
from envs.melee.physics.change import enter, finished, hull_height, leave_ground, rest, start_fall, turn_around
from envs.melee.physics.hurt import decide_hurt
from envs.melee.physics.inputs import PASS_STICK, shield_held
from envs.melee.physics.landing import land
from envs.melee.physics.motion import animated_step, clamp, drift, fall, fast_fall, is_animated, toward
from envs.melee.physics.stage import (
    along_slope,
    fly,
    is_sloped,
    past_edge,
    slope_at,
    surface_height,
    surface_left,
    surface_right,
)
from envs.melee.physics.wind import wind_at

SAME_HEIGHT = 1e-3  # of the floor before and after a move


@rule
def decide(p, m, c, s, tables, side):
    """Start another action if this one ends or the inputs ask for it."""
    before = p.action
    _decide(p, m, c, s, tables, side)
    # A player may act on the frame on which an action ends, but not on the frame on which it lets go by choice.
    chosen = a.CLIFF_CATCH <= before <= a.CLIFF_WAIT or before == a.DAMAGE_FALL or a.WALK_SLOW <= before <= a.WALK_FAST
    if p.action != before and not chosen:
        if p.action == a.WAIT:
            ground.ground_options(p, m, c)
        elif p.action == a.SQUAT_WAIT and before == a.DTILT:
            crouch.squat_wait(p, m, c)
        elif p.action == a.FALL or p.action == a.FALL_AERIAL:
            p.speed_air_x = clamp(p.speed_air_x, c.air_max)
            air.air_options(p, m, c)
        elif before == a.JUMP_SQUAT and p.action <= a.JUMP_B:
            air.air_options(p, m, c)
    if m.age == 0 and (p.action == a.FTILT or p.action == a.FSMASH):
        attack.aim(p, m, tables)


@rule
def _decide(p, m, c, s, tables, side):
    action = p.action
    if action < a.REBIRTH:
        death.dead(p, m, s, side)
    elif action <= a.REBIRTH_WAIT:
        death.rebirth(p, m, s)
    elif action <= a.LANDING_FALL_SPECIAL:
        _decide_movement(p, m, c, tables)
    elif action <= a.DAIR:
        _decide_attack(p, m, c, tables)
    elif action <= a.LANDING_DAIR:
        ground.lag(p, m)
    elif action <= a.DAMAGE_FLY_ROLL:
        decide_hurt(p, m, c)
    elif action <= a.GUARD_REFLECT:
        _decide_shield(p, m, c, tables)
    elif action <= a.DIZZY:
        _decide_down(p, m, tables)
    elif action <= a.PLATFORM_DROP:
        _decide_grab_or_dodge(p, m, c, tables)
    elif action <= a.TEETER_WAIT:
        edge.teeter(p, m, c, tables)
    elif action <= a.TAUNT_LEFT:
        _decide_ledge(p, m, c, s, tables)
    else:
        _decide_special(p, m, c, tables)


@rule
def _decide_special(p, m, c, tables):
    if special_motion.is_air_jump(p, c):
        air.jump(p, m, c, tables)
        return
    special.go_on(p, m, tables)
    if special.jump_cancels(p, m, tables):
        if p.on_ground:
            ground.start_jump_squat(p, m, c)
        else:
            air.double_jump(p, m, c)
    elif special.passes_platform(p, m, tables):
        action, frame = special_motion.special_row(p, m, tables).passes_as, p.action_frame
        crouch.drop_through(p, m, c)
        p.action, p.action_frame = action, frame


@rule
def _decide_movement(p, m, c, tables):
    action = p.action
    if action == a.WAIT:
        ground.wait(p, m, c)
    elif action <= a.WALK_FAST:
        ground.walk(p, m, c)
    elif action == a.TURN:
        ground.turn(p, m, c)
    elif action == a.TURN_RUN:
        run.turn_run(p, m, c)
    elif action == a.DASH:
        run.dash(p, m, c)
    elif action <= a.RUN_DIRECT:
        run.run(p, m, c)
    elif action == a.RUN_BRAKE:
        run.run_brake(p, m, c)
    elif action == a.JUMP_SQUAT:
        ground.jump_squat(p, m, c)
    elif action <= a.JUMP_AERIAL_B:
        air.jump(p, m, c, tables)
    elif action <= a.FALL_AERIAL_B:
        air.air_options(p, m, c)
    elif action == a.DAMAGE_FALL:
        if not air.tumble_options(p, m, c) and damage.wiggled(m):
            start_fall(p, m)
    elif action == a.SQUAT:
        crouch.squat(p, m, c)
    elif action == a.SQUAT_WAIT:
        crouch.squat_wait(p, m, c)
    elif action == a.SQUAT_RISE:
        crouch.squat_rise(p, m, c)
    elif action == a.LANDING:
        ground.landing(p, m, c)
    elif action == a.LANDING_FALL_SPECIAL:
        ground.lag(p, m)


@rule
def _decide_attack(p, m, c, tables):
    if not attack.keep_attacking(p, m, tables) or _dash_grabs(p, m) or not attack.may_interrupt(p, m, tables):
        return
    if not p.on_ground:
        air.air_options(p, m, c)
    elif p.action <= a.JAB_2 or p.action == a.DTILT:
        ground.attack_options(p, m, c)
    else:
        ground.ground_options(p, m, c)


@rule
def _dash_grabs(p, m):
    if p.action != a.DASH_ATTACK or m.dash_grab == 0:
        return False
    if shield_held(m):
        enter(p, m, a.CATCH_DASH)
        return True
    m.dash_grab -= 1
    return False


@rule
def _decide_shield(p, m, c, tables):
    if p.action == a.GUARD_STUN:
        shield.guard_stun(p, m, c)
    elif p.action == a.GUARD_OFF:
        shield.guard_off(p, m, c, tables)
    else:
        shield.guard(p, m, c)


@rule
def _decide_down(p, m, tables):
    if p.action >= a.SHIELD_BREAK_FLY:
        shield.broken(p, m)
    elif down.is_down(p):
        down.down(p, m, tables)
    else:
        down.get_up(p, m, tables)


@rule
def _decide_grab_or_dodge(p, m, c, tables):
    action = p.action
    if action == a.CATCH or action == a.CATCH_DASH:
        grab.catch(p, m, tables)
    elif action == a.CATCH_CUT or action == a.CAPTURE_CUT:
        grab.cut(p, m)
    elif action <= a.CATCH_ATTACK:
        grab.hold(p, m, tables)
    elif action <= a.THROW_D:
        grab.throw(p, m, tables)
    elif action == a.AIR_DODGE:
        air.air_dodge(p, m, tables)
    elif a.ROLL_F <= action <= a.SPOT_DODGE:
        turn_around(p, m, tables)
        if finished(p, m, tables):
            p.speed_ground_x = 0.0
            rest(p, m)
    elif action == a.PLATFORM_DROP:
        air.jump(p, m, c, tables)


@rule
def _decide_ledge(p, m, c, s, tables):
    if p.action <= a.CLIFF_WAIT:
        ledge.hang(p, m, c, s, tables)
    elif p.action >= a.TAUNT_RIGHT:
        if finished(p, m, tables):
            enter(p, m, a.WAIT)
    elif p.action == a.CLIFF_JUMP_SLOW_2 or p.action == a.CLIFF_JUMP_QUICK_2:
        air.jump(p, m, c, tables)
    else:
        ledge.climb(p, m, c, tables)


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
    if is_animated(p, m, tables):
        p.speed_ground_x = animated_step(p, m, tables)[0] * p.facing
    elif special_motion.is_special(p, c):
        special_motion.ground_speed(p, m, c, tables)
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
    outcome = edge.STOPS if is_animated(p, m, tables) and p.hitstun <= 0.0 else edge.edge_outcome(p, m, side)
    if side == 0.0:
        p.x = x
    elif special_motion.is_special(p, c) and special.leaves_edge(p, m, tables):
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
    if p.on_ground:
        p.y = surface_height(m, s, m.surface, p.x)


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
    elif p.hitstun > 0.0 or a.SHIELD_BREAK_FLY <= action <= a.SHIELD_BREAK_FALL:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        fall(p, m, c)
    else:
        if a.JUMP_F <= action <= a.JUMP_B and p.action_frame == 0.0:
            return  # the first frame of a jump moves with its launch speed
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
