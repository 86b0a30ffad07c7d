"""Kirby's up special: it leaves the ground as he rises, and its landing sends a beam along the floor.

Rules: doldecomp/melee, ftkirbyspecialhi.c (the move); the beam's motion was measured from a replay.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.change import leave_ground
from selfplay_melee.physics.motion import sign, toward
from selfplay_melee.physics.stages.stage import over_floor

SLOWING = 0.1  # of the beam, units a frame a frame


@rule
def play(p, m):
    """Leave the ground on the frame on which the rise begins."""
    if p.on_ground and m.age == 0:
        leave_ground(p, m)


@rule
def fly(m, i, s, tables):
    """Slow the beam down, not on its first frame, and let it climb a slope."""
    if m.laser_life[i] < tables.hits[m.laser_hit[i]].life:
        m.laser_speed_x[i] = toward(m.laser_speed_x[i], sign(m.laser_speed_x[i]), SLOWING)
    x, y = m.laser_x[i] + m.laser_speed_x[i], m.laser_y[i]
    m.laser_speed_y[i] = over_floor(s, x, y) - y
