"""Dashing, running, braking and turning around."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A
from envs.melee.physics.attack import ground_attack
from envs.melee.physics.change import enter
from envs.melee.physics.ground import grab_asked, ground_options, start_guard, start_jump_squat, start_turn
from envs.melee.physics.inputs import (
    CROUCH_STICK,
    RUN_JUMP_STICK,
    RUN_STICK,
    dash_direction,
    jump_asked,
    jump_pressed,
    shield_held,
)
from envs.melee.physics.motion import ground_friction, toward
from envs.melee.physics.special import start_special

REST_STICK = 0.3  # a dash slows down below this stick
RUN_BRAKE_CROUCH = 1.0
RUN_LOCK = 10  # frames of a run out of a turn in which it goes on without the stick


@rule
def dash(p, m, c):
    """The first frames of running."""
    if _dash_options(p, m, c):
        return
    if p.action_frame > c.dash_to_run and m.stick_x * p.facing >= RUN_STICK:
        enter(p, m, a.RUN)
        m.run_lock = 0
    elif p.action_frame > c.dash_frames:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def _dash_options(p, m, c):
    if _run_attacks(p, m, c):
        return True
    if shield_held(m):
        start_guard(p, m)
        return True
    if dash_direction(m) == -p.facing:
        start_turn(p, m, True)
        return True
    if jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
        return True
    return False


@rule
def _run_attacks(p, m, c):
    if start_special(p, m, c):
        return True
    if grab_asked(m):
        enter(p, m, a.CATCH_DASH)
        return True
    if m.c_pressed:
        return ground_attack(p, m)
    if m.pressed & BUTTON_A:
        enter(p, m, a.DASH_ATTACK)
        return True
    return False


@rule
def run(p, m, c):
    """Running at full speed."""
    if _run_attacks(p, m, c):
        return
    if shield_held(m):
        start_guard(p, m)
    elif jump_asked(m, RUN_JUMP_STICK):
        start_jump_squat(p, m, c)
    elif m.stick_x * p.facing <= -REST_STICK:
        start_turn_run(p, m, 0.0)
    elif m.stick_x * p.facing < RUN_STICK and m.run_lock <= 0:
        enter(p, m, a.RUN_BRAKE)
    m.run_lock = max(m.run_lock - 1, 0)


@rule
def run_brake(p, m, c):
    """Brake from a run; a crouch or a jump ends it early."""
    if jump_pressed(m):
        start_jump_squat(p, m, c)
    elif m.stick_y <= CROUCH_STICK and p.action_frame >= RUN_BRAKE_CROUCH:
        enter(p, m, a.SQUAT)
    elif m.stick_x * p.facing <= -REST_STICK:
        start_turn_run(p, m, p.action_frame)
    elif m.age > c.run_brake_frames:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def start_turn_run(p, m, frame):
    """Turn around from a run, or from braking, whose animation goes on."""
    enter(p, m, a.TURN_RUN)
    p.action_frame = frame
    m.dash_turn = 0


@rule
def turn_run(p, m, c):
    """Turning around from a run: slide until the speed is gone, then face the other way and run on."""
    if jump_pressed(m):
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
    if speed >= target:
        speed += c.dash_acceleration - c.traction
    else:
        speed = min(speed + c.dash_acceleration, target)
    p.speed_ground_x = speed * side


@rule
def start_dash_speed(p, c):
    """Speed of the first frame of a dash, less the speed in the other direction."""
    speed = p.speed_ground_x * p.facing
    speed = max(speed, c.dash_start) if speed > 0.0 else speed + c.dash_start
    p.speed_ground_x = p.facing * speed


@rule
def dash_speed(p, m, c):
    """Accelerate towards the speed that the stick asks for; friction without input."""
    if abs(m.stick_x) < REST_STICK:
        ground_friction(p, c, 1.0)
        return
    target = c.run_max * m.stick_x
    faster = abs(p.speed_ground_x) > abs(target) and p.speed_ground_x * target > 0.0
    step = c.dash_acceleration + c.dash_acceleration_stick * abs(m.stick_x)
    p.speed_ground_x = toward(p.speed_ground_x, target, c.traction if faster else step)
