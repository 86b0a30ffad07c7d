"""What a player does: its action goes on, ends or gives way to another that the inputs ask for."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions import (
    air,
    attack,
    crouch,
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
from selfplay_melee.physics.actions.hurt import decide_hurt
from selfplay_melee.physics.change import enter, finished, rest, start_fall, turn_around
from selfplay_melee.physics.hits import damage
from selfplay_melee.physics.inputs import shield_held
from selfplay_melee.physics.motion import clamp
from selfplay_melee.physics.moves.calls import decide_suffering


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
        decide_hurt(p, m, c, tables)
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
    elif action >= a.FIRST_SPECIAL:
        _decide_special(p, m, c, tables)
    else:
        decide_suffering(p, m, c, tables)


@rule
def _decide_special(p, m, c, tables):
    if special_motion.is_air_jump(p, c):
        air.jump(p, m, c, tables)
        return
    special.go_on(p, m, c, tables)
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
