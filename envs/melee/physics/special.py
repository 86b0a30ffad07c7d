"""The up special: a start in place, a flight along the stick, then a helpless fall. Figures are the character's."""

from __future__ import annotations

import math

from envs.melee.physics.change import enter, leave_ground, start_fall_special
from envs.melee.physics.compile import rule
from envs.melee.physics.motion import sign, toward


@rule
def start_up_special(p, m, c):
    """Begin, on the ground or in the air; the direction is chosen later."""
    enter(p, m, int(c.up_ground_action if p.on_ground else c.up_air_action))
    m.fast_fall = 0
    if not p.on_ground:
        p.speed_air_x *= c.up_start_keep
        p.speed_y *= c.up_start_keep


@rule
def up_special(p, m, c):
    """One frame of any part of the move."""
    if p.action == c.up_ground_action or p.action == c.up_air_action:
        if p.action_frame > c.up_start:
            _start_flight(p, m, c)
    elif p.action == c.up_flight_action:
        if p.action_frame > c.up_travel:
            _end_flight(p, m, c)
    elif p.action_frame > c.up_end:
        start_fall_special(p, m, c.up_landing_lag)


@rule
def _start_flight(p, m, c):
    length = math.sqrt(m.stick_x * m.stick_x + m.stick_y * m.stick_y)
    m.aim_x = m.stick_x / length if length > 0.0 else 0.0
    m.aim_y = m.stick_y / length if length > 0.0 else 1.0
    if m.aim_x != 0.0:
        p.facing = sign(m.aim_x)
    leave_ground(p, m)
    enter(p, m, int(c.up_flight_action))
    p.speed_air_x = m.aim_x * c.up_speed
    p.speed_y = m.aim_y * c.up_speed


@rule
def _end_flight(p, m, c):
    p.speed_air_x = m.aim_x * c.up_end_speed
    p.speed_y = m.aim_y * c.up_end_speed
    enter(p, m, int(c.up_end_action))


@rule
def up_special_speed(p, m, c):
    """Speeds in the air during the move."""
    if p.action == c.up_flight_action:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.up_slowdown * abs(m.aim_x))
        p.speed_y = toward(p.speed_y, 0.0, c.up_slowdown * abs(m.aim_y))
    elif p.action == c.up_air_action:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        p.speed_y = max(p.speed_y - c.up_start_gravity, -c.fall_speed)
    else:
        p.speed_air_x = toward(p.speed_air_x, 0.0, c.air_friction)
        p.speed_y = max(p.speed_y - c.gravity, -c.fall_speed)


@rule
def flies(p, c):
    """In the part of the move, or after it, that takes a ledge."""
    return p.action == c.up_end_action or p.action == c.up_flight_action
