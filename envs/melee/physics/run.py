"""Dashing, running, coming to a stop and turning around."""

from __future__ import annotations

from envs.melee import actions as a
from envs.melee.controller import BUTTON_A
from envs.melee.physics.attack import ground_attack, up_special_asked
from envs.melee.physics.change import enter
from envs.melee.physics.compile import rule
from envs.melee.physics.ground import grab_asked, ground_options, start_jump_squat, start_turn
from envs.melee.physics.inputs import CROUCH_STICK, RUN_STICK, dash_direction, jump_pressed, shield_held
from envs.melee.physics.motion import ground_friction, toward
from envs.melee.physics.special import start_up_special

REST_STICK = 0.3  # a dash slows down below this stick
RUN_BRAKE_CROUCH = 2.0


@rule
def dash(p, m, c):
    """The first frames of running."""
    if _dash_options(p, m, c):
        return
    if p.action_frame > c.dash_to_run and m.stick_x * p.facing >= RUN_STICK:
        enter(p, m, a.RUN)
    elif p.action_frame > c.dash_frames:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def _dash_options(p, m, c):
    if _run_attacks(p, m, c):
        return True
    if jump_pressed(m):
        start_jump_squat(p, m)
        return True
    direction = dash_direction(m)
    if direction == -p.facing:
        start_turn(p, m, True)
        return True
    return False


@rule
def _run_attacks(p, m, c):
    if up_special_asked(m):
        start_up_special(p, m, c)
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
        enter(p, m, a.GUARD_ON)
    elif jump_pressed(m):
        start_jump_squat(p, m)
    elif m.stick_x * p.facing <= -REST_STICK:
        enter(p, m, a.TURN_RUN)
    elif m.stick_x * p.facing < RUN_STICK:
        enter(p, m, a.RUN_BRAKE)


@rule
def run_brake(p, m, c):
    """Coming to a stop from a run; a crouch or a jump ends it early."""
    if jump_pressed(m):
        start_jump_squat(p, m)
    elif m.stick_y <= CROUCH_STICK and p.action_frame >= RUN_BRAKE_CROUCH:
        enter(p, m, a.SQUAT)
    elif m.stick_x * p.facing <= -REST_STICK:
        enter(p, m, a.TURN_RUN)
    elif p.action_frame > c.run_brake_frames:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def turn_run(p, m, c):
    """Turning around from a run: slide, then face the other way and run on."""
    if jump_pressed(m):
        start_jump_squat(p, m)
    elif p.action_frame > c.run_turn_frames:
        p.facing = -p.facing
        enter(p, m, a.RUN if m.stick_x * p.facing >= RUN_STICK else a.WAIT)


@rule
def dash_speed(p, m, c):
    """Towards the running speed that the stick asks for, or friction without one."""
    if abs(m.stick_x) < REST_STICK:
        ground_friction(p, c, 1.0)
        return
    target = c.run_max * m.stick_x
    faster = abs(p.speed_ground_x) > abs(target) and p.speed_ground_x * target > 0.0
    p.speed_ground_x = toward(p.speed_ground_x, target, c.traction if faster else c.dash_acceleration)
