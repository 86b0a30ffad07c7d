"""Dashing, running, braking and turning around."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_D_UP
from selfplay_melee.physics.actions.attack import dash_smash
from selfplay_melee.physics.actions.ground import (
    DASH_GRAB,
    DASH_LATE,
    DASH_STOP,
    flick_options,
    start_guard,
    start_jump_squat,
    start_squat,
    walk_speed,
)
from selfplay_melee.physics.actions.special import SIDE_STICK, UP_STICK, start_special
from selfplay_melee.physics.change import enter
from selfplay_melee.physics.inputs import (
    CROUCH_STICK,
    RUN_JUMP_STICK,
    RUN_STICK,
    TURN_RUN_STICK,
    grab_pressed,
    jump_asked,
    shield_held,
)
from selfplay_melee.physics.motion import ground_friction, toward

DASH_EARLY = 4.0  # up to this frame a dash that did not come out of a turn only smashes, grabs, jumps and rolls
DASH_ROLL = 3.0  # up to this one it rolls
RUN_LOCK = 10  # frames of a run out of a turn in which it goes on without the stick
DASH_ATTACK_FRICTION = 0.625  # of the character's
RUN_GAIN = 0.4  # of the acceleration of a dash, towards a speed not yet reached


@rule
def dash(p, m, c):
    """The first frames of running."""
    if p.action_frame > c.dash_frames:
        enter(p, m, a.WAIT)
    elif _dash_stops(p, m, c):
        return
    elif jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
    elif p.action_frame > c.dash_to_run and m.stick_x * p.facing >= RUN_STICK:
        enter(p, m, a.RUN)
        m.run_lock = 0


@rule
def _dash_stops(p, m, c):
    """Start what takes most of the speed of a dash, or an attack or grab, which does not; whether one started."""
    if _dash_special(p, m, c):
        return True
    if grab_pressed(m):
        enter(p, m, a.CATCH_DASH)
        return True
    if m.dash_fresh and p.action_frame <= DASH_EARLY:
        return _early_dash_options(p, m)
    if m.pressed & BUTTON_A and p.action_frame <= DASH_LATE:
        start_dash_attack(p, m)
        return True
    if m.stick_x * p.facing < 0.0 or p.action_frame > DASH_LATE:
        before = p.speed_ground_x
        if flick_options(p, m):
            p.speed_ground_x = before * DASH_STOP
            return True
    if shield_held(m):
        start_guard(p, m)
        return True
    if m.pressed & BUTTON_D_UP:
        p.speed_ground_x *= DASH_STOP
        enter(p, m, a.TAUNT_RIGHT if p.facing > 0.0 else a.TAUNT_LEFT)
        return True
    return False


@rule
def _dash_special(p, m, c):
    """Of the special moves a dash allows the one to the side, and not for long."""
    if p.action_frame > DASH_LATE or abs(m.stick_x) < SIDE_STICK or abs(m.stick_y) >= UP_STICK:
        return False
    return start_special(p, m, c)


@rule
def _early_dash_options(p, m):
    if dash_smash(p, m):
        p.speed_ground_x *= DASH_STOP
        return True
    if shield_held(m) and p.action_frame <= DASH_ROLL:
        p.speed_ground_x *= DASH_STOP
        enter(p, m, a.ROLL_F)
        return True
    return False


@rule
def start_dash_attack(p, m):
    """Attack out of a dash or a run; a trigger soon after makes it a grab."""
    enter(p, m, a.DASH_ATTACK)
    m.dash_grab = DASH_GRAB


@rule
def run(p, m, c):
    """Running at full speed."""
    m.run_lock = max(m.run_lock - 1, 0)
    if start_special(p, m, c):
        return
    if grab_pressed(m):
        enter(p, m, a.CATCH_DASH)
    elif m.pressed & BUTTON_A:
        start_dash_attack(p, m)
    elif shield_held(m):
        start_guard(p, m)
    elif jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
    elif m.run_lock <= 0 and m.stick_x * p.facing <= -TURN_RUN_STICK:
        start_turn_run(p, m, 0.0)
    elif m.run_lock <= 0 and abs(m.stick_x) < RUN_STICK:
        enter(p, m, a.RUN_BRAKE)


@rule
def run_brake(p, m, c):
    """Brake from a run; a jump, the stick back or a crouch ends it early."""
    if m.age >= c.run_brake_frames:
        enter(p, m, a.WAIT)
    elif jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
    elif m.stick_x * p.facing <= -TURN_RUN_STICK:
        start_turn_run(p, m, p.action_frame)
    elif m.stick_y <= CROUCH_STICK:
        start_squat(p, m)


@rule
def start_turn_run(p, m, frame):
    """Turn around from a run, or from braking, whose animation goes on."""
    enter(p, m, a.TURN_RUN)
    p.action_frame = frame
    m.dash_turn = 0


@rule
def turn_run(p, m, c):
    """Turning around from a run: slide until the speed is gone, then face the other way and run on."""
    if jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
    elif not m.dash_turn and p.action_frame > c.run_turn_break:
        p.action_frame = c.run_turn_break
        if p.speed_ground_x * p.facing <= 0.0:
            p.facing = -p.facing
            m.dash_turn = 1
    elif p.action_frame > c.run_turn_frames:
        if m.stick_x * p.facing >= RUN_STICK:
            enter(p, m, a.RUN)
            m.run_lock = RUN_LOCK
        else:
            enter(p, m, a.WAIT)


@rule
def turn_run_speed(p, m, c):
    """Accelerate away from the old direction if the stick asks for it; friction above the running speed."""
    side = p.facing if m.dash_turn else -p.facing
    if m.stick_x * side <= 0.0:
        ground_friction(p, c, 1.0)
        return
    target = c.run_max * abs(m.stick_x)
    speed = p.speed_ground_x * side
    step = c.dash_acceleration + c.dash_acceleration_stick * abs(m.stick_x)
    if speed + step > target:  # the game lets the turn overshoot
        step = max(step - c.traction, target - speed)
    p.speed_ground_x = (speed + step) * side


@rule
def start_dash_speed(p, c):
    """Speed of the first frame of a dash, less the speed in the other direction."""
    p.speed_ground_x = p.facing * (min(p.speed_ground_x * p.facing, 0.0) + c.dash_start)


@rule
def dash_speed(p, m, c):
    """Accelerate towards the speed that the stick asks for, in a run the less the nearer; friction without input."""
    if m.stick_x == 0.0:
        ground_friction(p, c, 1.0)
        return
    target = c.run_max * m.stick_x
    reached = p.speed_ground_x / target
    step = c.dash_acceleration + c.dash_acceleration_stick * abs(m.stick_x)
    if p.action == a.RUN and 0.0 < reached < 1.0:
        step *= (1.0 - reached) * RUN_GAIN
    p.speed_ground_x = toward(p.speed_ground_x, target, c.traction if reached > 1.0 else step)


@rule
def ground_speed(p, m, c):
    """Change the speed on the ground by the rule of the action."""
    action = p.action
    if a.WALK_SLOW <= action <= a.WALK_FAST:
        walk_speed(p, m, c)
    elif action == a.DASH and p.action_frame == 1.0:
        start_dash_speed(p, c)
    elif action == a.DASH or action == a.RUN:
        dash_speed(p, m, c)
    elif action == a.TURN_RUN:
        turn_run_speed(p, m, c)
    elif action == a.DASH_ATTACK:
        ground_friction(p, c, DASH_ATTACK_FRICTION)
    else:
        fast = abs(p.speed_ground_x) > c.walk_max
        slides = action == a.RUN_BRAKE or a.CATCH <= action <= a.CATCH_CUT
        ground_friction(p, c, 2.0 if fast and not slides else 1.0)
