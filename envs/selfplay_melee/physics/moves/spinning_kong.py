"""Donkey Kong's up special: on the ground the stick moves him while he spins; its columns describe the rest.

Rules: doldecomp/melee, ftDk_SpecialHi.c. Figures: as a port of it documents them from the game's files.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.motion import clamp, ground_friction, toward

TOP = 0.85  # units a frame
GAIN = 0.025  # units a frame a frame, with the stick at the rim


@rule
def set_speed(p, m, c):
    """Speed on the ground; in the air the top speed at the start."""
    if not p.on_ground:
        if p.action_frame == 1.0:
            p.speed_air_x = clamp(p.speed_air_x, TOP)
        return
    p.speed_ground_x = clamp(p.speed_ground_x, TOP)
    target = TOP * m.stick_x
    if target == 0.0 or (p.speed_ground_x * target > 0.0 and abs(p.speed_ground_x) > abs(target)):
        ground_friction(p, c, 1.0)
    else:
        p.speed_ground_x = toward(p.speed_ground_x, target, GAIN * abs(m.stick_x))
