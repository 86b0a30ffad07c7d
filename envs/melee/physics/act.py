"""One frame of one player: decide, change speeds, move."""

from __future__ import annotations

from envs.melee import actions as a
from envs.melee.physics import air, attack, damage, death, grab, ground, ledge, run, shield, special
from envs.melee.physics.change import enter, finished, leave_ground, rest, start_fall, touch_ground
from envs.melee.physics.compile import rule
from envs.melee.physics.motion import animated_step, drift, fall, fast_fall, ground_friction, toward
from envs.melee.physics.stage import fly, past_edge

SOFT_LANDING = -1.0  # falling slower than this has no landing animation


@rule
def decide(p, m, c, s, tables, side):
    """Let the action end, or the player start another."""
    action = p.action
    if action <= a.DEAD_UP:
        death.dead(p, m, s, side)
    elif action <= a.REBIRTH_WAIT:
        death.rebirth(p, m, s)
    elif action <= a.LANDING_FALL_SPECIAL:
        _decide_movement(p, m, c, tables)
    elif action <= a.DAIR:
        _decide_attack(p, m, c, tables)
    elif action <= a.LANDING_DAIR:
        ground.lag(p, m, c)
    elif action <= a.DAMAGE_FLY_ROLL:
        damage.hurt(p, m)
    elif action <= a.GUARD_REFLECT:
        _decide_shield(p, m, c)
    elif action <= a.DIZZY:
        _decide_down(p, m, tables)
    elif action <= a.PLATFORM_DROP:
        _decide_grab_or_dodge(p, m, c, tables)
    elif action <= a.TAUNT_LEFT:
        _decide_ledge(p, m, c, s, tables)
    else:
        special.up_special(p, m, c)


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
        if damage.wiggled(m):
            start_fall(p, m)
        else:
            air.tumble_options(p, m, c)
    elif a.SQUAT <= action <= a.SQUAT_RISE:
        ground.squat(p, m, c)
    elif action == a.LANDING:
        ground.landing(p, m, c)
    elif action == a.LANDING_FALL_SPECIAL:
        ground.lag(p, m, c)


@rule
def _decide_attack(p, m, c, tables):
    if not attack.keep_attacking(p, m, tables) or not attack.may_interrupt(p, m, tables):
        return
    if p.on_ground:
        ground.ground_options(p, m, c)
    else:
        air.air_options(p, m, c)


@rule
def _decide_shield(p, m, c):
    if p.action == a.GUARD_STUN:
        shield.guard_stun(p, m)
    elif p.action == a.GUARD_OFF:
        shield.guard_off(p, m)
    else:
        shield.guard(p, m, c)


@rule
def _decide_down(p, m, tables):
    if p.action >= a.SHIELD_BREAK_FLY:
        shield.broken(p, m)
    elif a.DOWN_BOUND <= p.action <= a.DOWN_DAMAGE:
        damage.down(p, m, tables)
    else:
        damage.get_up(p, m, tables)


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
        if finished(p, m, tables):
            if action == a.ROLL_F:
                p.facing = -p.facing
            rest(p, m)
    elif action == a.PLATFORM_DROP:
        air.jump(p, m, c, tables)


@rule
def _decide_ledge(p, m, c, s, tables):
    if p.action <= a.CLIFF_WAIT:
        ledge.hang(p, m, c, s)
    elif p.action >= a.TAUNT_RIGHT:
        if finished(p, m, tables):
            enter(p, m, a.WAIT)
    elif p.action == a.CLIFF_JUMP_SLOW_2 or p.action == a.CLIFF_JUMP_QUICK_2:
        air.jump(p, m, c, tables)
    else:
        ledge.climb(p, m, c, tables)


@rule
def is_placed(p):
    """Where the player is follows from something else than speeds."""
    return p.action <= a.REBIRTH_WAIT or grab.is_held(p) or a.CLIFF_CATCH <= p.action <= a.CLIFF_WAIT


@rule
def is_climbing(p):
    """On the way up from a ledge."""
    jumping = p.action == a.CLIFF_JUMP_SLOW_2 or p.action == a.CLIFF_JUMP_QUICK_2
    return a.CLIFF_CLIMB_SLOW <= p.action <= a.CLIFF_JUMP_QUICK_2 and not jumping


@rule
def move(p, m, c, s, tables):
    """Change speeds as the action says, then move and meet the stage."""
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
    _ground_speed(p, m, c)
    forward, _ = animated_step(p, m, tables)
    # The first frame of a dash still moves with the speed before it.
    speed = before if p.action == a.DASH and p.action_frame == 1.0 else p.speed_ground_x
    damage.slow_launch(p, c)
    p.speed_air_x = speed
    x = p.x + speed + p.speed_attack_x + forward * p.facing
    edge = past_edge(m, s, x)
    if edge == 0.0:
        p.x = x
    elif _falls_off(p, edge):
        p.x = x
        if p.hitstun > 0.0:
            leave_ground(p, m)
        else:
            start_fall(p, m)
    else:
        p.x = s.surface_right[m.surface] if edge > 0.0 else s.surface_left[m.surface]
        p.speed_ground_x = 0.0
        p.speed_attack_x = 0.0


@rule
def _ground_speed(p, m, c):
    action = p.action
    if a.WALK_SLOW <= action <= a.WALK_FAST:
        ground.walk_speed(p, m, c)
    elif action == a.DASH and p.action_frame == 1.0:
        p.speed_ground_x = min(max(p.speed_ground_x + p.facing * c.dash_start, -c.run_max), c.run_max)
    elif action == a.DASH or action == a.RUN:
        run.dash_speed(p, m, c)
    else:
        ground_friction(p, c, 2.0 if abs(p.speed_ground_x) > c.walk_max else 1.0)


@rule
def _falls_off(p, edge):
    """Whether the action lets the player leave the edge; most stop there."""
    if p.hitstun > 0.0 or p.action == a.GUARD_STUN:
        return True
    moving = a.WALK_SLOW <= p.action <= a.RUN_BRAKE and p.action != a.TURN
    return (moving and edge * p.speed_ground_x > 0.0) or p.action == a.LANDING_FALL_SPECIAL


@rule
def _move_in_air(p, m, c, s, tables):
    _air_speed(p, m, c, tables)
    damage.slow_launch(p, c)
    dx = p.speed_air_x + p.speed_attack_x
    dy = p.speed_y + p.speed_attack_y
    before = p.speed_y
    surface = fly(p, m, s, dx, dy)
    if surface >= 0:
        land(p, m, c, s, tables, surface, before)
    elif p.hitlag <= 0.0:
        ledge.try_grab(p, m, c, s)


@rule
def _air_speed(p, m, c, tables):
    action = p.action
    if action == a.AIR_DODGE:
        air.air_dodge_speed(p, m, c)
    elif action >= a.FIRST_SPECIAL:
        special.up_special_speed(p, m, c)
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


@rule
def land(p, m, c, s, tables, surface, fall_speed):
    """Touch down on a surface: what follows depends on how the player came."""
    action = p.action
    if damage.is_flying(p) or action == a.DAMAGE_FALL:
        damage.meet_floor(p, m, s, surface)
        return
    frame = p.action_frame
    touch_ground(p, m, s, surface)
    p.speed_attack_y = 0.0
    if a.NAIR <= action <= a.DAIR:
        _land_attack(p, m, tables, frame)
    elif a.FALL_SPECIAL <= action <= a.FALL_SPECIAL_B:
        _start_lag(p, m, a.LANDING_FALL_SPECIAL, m.landing_lag)
    elif action == a.AIR_DODGE:
        _start_lag(p, m, a.LANDING_FALL_SPECIAL, air.AIR_DODGE_LANDING)
    elif action >= a.FIRST_SPECIAL:
        _start_lag(p, m, a.LANDING_FALL_SPECIAL, c.up_landing_lag)
    elif a.SHIELD_BREAK_FLY <= action <= a.SHIELD_BREAK_FALL:
        enter(p, m, a.SHIELD_BREAK_DOWN)
        p.speed_ground_x = 0.0
    elif p.hitstun > 0.0:
        return  # hitstun goes on, sliding
    elif fall_speed > SOFT_LANDING:
        enter(p, m, a.WAIT)
    else:
        _start_lag(p, m, a.LANDING, LANDING_FRAMES)


LANDING_FRAMES = 30.0  # of the animation; the player may act long before
L_CANCEL_WINDOW = 7


@rule
def _start_lag(p, m, action, frames):
    enter(p, m, action)
    m.duration = frames


@rule
def _land_attack(p, m, tables, frame):
    """Landing during an aerial attack: its lag, halved by an L-cancel, none in its first and last frames."""
    action = p.action
    entry = tables.actions[m.character_row, action]
    if frame < entry.autocancel_before or (entry.autocancel_after > 0 and frame > entry.autocancel_after):
        _start_lag(p, m, a.LANDING, LANDING_FRAMES)
        return
    lag = float(entry.landing_lag)
    if m.shoulder_age < L_CANCEL_WINDOW:
        lag = float(int(lag / 2.0))
    _start_lag(p, m, a.LANDING_NAIR + (action - a.NAIR), lag)
