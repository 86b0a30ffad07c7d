"""Pikachu's thunder jolt: a ball flies down and, where it meets a floor, runs along it.

In the game it goes on around corners and along walls; here it goes out at the end of a floor.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.moves.floors import NO_FLOOR, floor_between
from selfplay_melee.physics.stages.stage import surface_height

GROUND_SPEED = 2.0  # estimated: that of the ball in the air
GROUND_POWER = 7.0 / 6.0  # damage on the ground to that of the ball (FightCore)
STEP = 2.0  # units by which the floor may rise or fall a frame


@rule
def fly(m, i, s):
    """Fly straight until a floor, then follow it."""
    x = m.laser_x[i] + m.laser_speed_x[i]
    if m.laser_speed_y[i] == 0.0:
        floor = floor_between(m, s, x, m.laser_y[i] + STEP, x, m.laser_y[i] - STEP)
        if floor == NO_FLOOR:
            m.laser_life[i] = 1.0  # its last frame
        else:
            m.laser_y[i] = surface_height(m, s, floor, x)
        return
    floor = floor_between(m, s, m.laser_x[i], m.laser_y[i], x, m.laser_y[i] + m.laser_speed_y[i])
    if floor != NO_FLOOR:
        m.laser_speed_x[i] = sign(m.laser_speed_x[i]) * GROUND_SPEED
        m.laser_speed_y[i] = 0.0
        m.laser_power[i] *= GROUND_POWER
        m.laser_y[i] = surface_height(m, s, floor, m.laser_x[i])
