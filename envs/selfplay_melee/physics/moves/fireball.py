"""Mario's fireball: it falls, bounces, and goes out when it has become slow."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.moves.floors import NO_FLOOR, floor_between, slope_of
from selfplay_melee.physics.stages.stage import surface_height

# Figures are those of Super Smash Bros. Brawl, whose fireball lives as long: BrawlRE, Article_Variables.md.
GRAVITY = 0.036
FALL_SPEED = 1.25
BOUNCE = 0.75  # share of the speed that a bounce leaves
LEAST_SPEED = 0.8  # a bounce that leaves less puts the fireball out


@rule
def fly(m, i, s):
    """Fall, or bounce off a floor that the way of this frame meets."""
    m.laser_speed_y[i] = max(m.laser_speed_y[i] - GRAVITY, -FALL_SPEED)
    speed_x, speed_y = m.laser_speed_x[i], m.laser_speed_y[i]
    floor = floor_between(m, s, m.laser_x[i], m.laser_y[i], m.laser_x[i] + speed_x, m.laser_y[i] + speed_y)
    if floor == NO_FLOOR:
        return
    slope = slope_of(s, floor, m.laser_x[i])
    length = math.sqrt(1.0 + slope * slope)
    normal_x, normal_y = -slope / length, 1.0 / length
    into = speed_x * normal_x + speed_y * normal_y
    m.laser_speed_x[i] = BOUNCE * (speed_x - 2.0 * into * normal_x)
    m.laser_speed_y[i] = BOUNCE * (speed_y - 2.0 * into * normal_y)
    m.laser_y[i] = surface_height(m, s, floor, m.laser_x[i])
    if norm(m.laser_speed_x[i], m.laser_speed_y[i]) < LEAST_SPEED:
        m.laser_life[i] = 1.0  # its last frame
