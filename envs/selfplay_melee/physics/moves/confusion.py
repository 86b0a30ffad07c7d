"""Mewtwo's Confusion: a catch that spins its victim around and drops it, and a mirror for shots.

A shot that it sends back still belongs to the player who fired it. Source: doldecomp/melee, ftMt_SpecialS.c and
ftCo_CaptureMewtwo.c; figures measured from replays unless noted.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.grab import let_go, release, stop_caught
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.change import enter, leave_ground
from selfplay_melee.tables.layout import THROW_HIT

ON_GROUND, IN_AIR = 351, 352
LIFT = 1.5  # speed upwards that the first use in the air gives before a landing
# Estimated: the mirror is where and as large as the catch, and up for as long as in Super Smash Bros. Ultimate.
MIRROR_FROM, MIRROR_TO = 12.0, 34.0
MIRROR_X, MIRROR_Y, MIRROR_RADIUS = 17.6, 7.3, 10.0


@rule
def set_speed(p, m, c):
    """Rise on the first frame in the air."""
    if p.action == IN_AIR and m.age == 0 and m.risen == 0:
        m.risen = 1
        p.speed_y = LIFT - c.gravity


@rule
def catch(p, m, victim, memory):
    """The victim floats from now on, looks the same way as Mewtwo, and cannot act."""
    leave_ground(victim, memory)
    enter(victim, memory, a.CONFUSED if p.on_ground else a.CONFUSED_AIR)
    victim.action_frame = 1.0
    victim.facing = p.facing
    stop_caught(victim, memory)
    p.speed_ground_x = 0.0
    p.speed_air_x = 0.0
    p.speed_y = 0.0


@rule
def spin(p, m, tables, victim, memory):
    """Move the victim along; free it if Mewtwo was interrupted."""
    if p.action != ON_GROUND and p.action != IN_AIR:
        release(victim, memory)
    elif memory.age > 0:
        entry = tables.actions[m.character_row, p.action]
        for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
            hit = tables.hits[row]
            if hit.kind == THROW_HIT and hit.start <= p.action_frame <= hit.end:
                let_go(p, m, tables, victim, hit.first_point + int(p.action_frame) - hit.start)


@rule
def drop(victim, memory):
    """Let the victim fall, tumbling, able to act."""
    enter(victim, memory, a.DAMAGE_FALL)


@rule
def meets(m, i, p, tables):
    """Whether a shot comes into the mirror from the front."""
    if not MIRROR_FROM <= p.action_frame <= MIRROR_TO or m.laser_speed_x[i] * p.facing >= 0.0:
        return False
    x, y = m.laser_x[i] - p.x - p.facing * MIRROR_X, m.laser_y[i] - p.y - MIRROR_Y
    return norm(x, y) <= MIRROR_RADIUS + tables.hits[m.laser_hit[i]].radius


@rule
def send_back(m, i, tables):
    """Send a shot back, still its owner's; like one just fired it has no tail yet, which would reach Mewtwo."""
    m.laser_speed_x[i] = -m.laser_speed_x[i]
    m.laser_speed_y[i] = -m.laser_speed_y[i]
    m.laser_life[i] = tables.hits[m.laser_hit[i]].life
