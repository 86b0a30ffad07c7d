"""Mario's tornado: presses of B make it rise, once before a landing; the stick moves it.

The rules are those of doldecomp/melee (ftMr_SpecialLw.c).
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_B
from selfplay_melee.physics.change import leave_ground, lock_hull
from selfplay_melee.physics.motion import toward

ON_GROUND, IN_AIR = a.FIRST_SPECIAL + 8, a.FIRST_SPECIAL + 9
START_SPEED = 0.5  # upward; this and the next three: libmelee framedata.csv
RISE = 1.2  # of a press
RISE_TOP = 1.4
RISE_FROM, RISE_TO = 10, 38  # frames on which a press counts; the last is that of the last hit: estimated
SPENT = 2  # bit of ``MEMORY.risen``: the move has risen since the last landing
DRIFT_SHARE = 1.0  # of the character's top drift and its acceleration: estimated
GROUND_GAIN = 0.1  # units a frame a frame for the stick at the rim: estimated from the walk


@rule
def play(p, m):
    """Start off the ground with a hop, rise with presses of B."""
    if p.action == IN_AIR and p.on_ground:
        leave_ground(p, m)
        p.speed_y = START_SPEED
    if not p.on_ground:  # the feet meet floors: the move has a box of its own for that
        m.hull = 0.0
        lock_hull(m)
    in_time = RISE_FROM <= p.action_frame <= RISE_TO
    if in_time and m.pressed & BUTTON_B and not m.risen & SPENT:
        if p.on_ground:
            leave_ground(p, m)
            p.action = IN_AIR
        p.speed_y = min(p.speed_y + RISE, RISE_TOP)
    if p.action_frame > RISE_TO and not p.on_ground:
        m.risen |= SPENT


@rule
def set_speed(p, m, c):
    """Let the stick move the player sideways."""
    top = DRIFT_SHARE * c.air_max * m.stick_x
    if p.on_ground:
        p.speed_ground_x = toward(p.speed_ground_x, top, GROUND_GAIN * abs(m.stick_x))
        return
    p.speed_air_x = toward(p.speed_air_x, top, DRIFT_SHARE * c.air_acceleration_stick * abs(m.stick_x))
    if p.action_frame == 1.0 and m.risen & SPENT:
        p.speed_y += RISE  # a spent one starts with the rise that a press would give
