"""Kirby's neutral special: it catches a player, who is drawn into the mouth, held there, and swallowed or spat out.

Rules: doldecomp/melee, ftkirbyspecialn.c and ftCo_Capture*Kirby.c. The pull, the times of the mouth and the flight of a
swallowed player were measured from replays; how long the mouth holds and the damage: as a port documents them from the
game's files; the walk with a full mouth and the flight of a player spat out: estimated. Left out: Kirby copies nothing,
and cannot jump with a full mouth.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_B
from selfplay_melee.physics.actions.grab import loosen, stop_caught
from selfplay_melee.physics.actions.special_motion import continue_as
from selfplay_melee.physics.change import enter, start_fall
from selfplay_melee.physics.hits.damage import note_damage
from selfplay_melee.physics.inputs import JUMP_STICK
from selfplay_melee.physics.motion import clamp, toward

PULL, EAT, WAIT, SWALLOW, SPIT = 356, 358, 359, 367, 369
AIR_PULL, AIR_EAT, AIR_WAIT, AIR_SWALLOW, AIR_SPIT = 374, 376, 377, 378, 380
HOLD_FRAMES = 250.0
PULL_SPEED = 0.9  # units a frame
MOUTH_X, MOUTH_Y = 5.4, 3.4  # how near the mouth takes a player in, and how high it is
WALK = 0.5  # share of the walking speed
RELEASE_FRAME = 7.0  # of swallowing or spitting
RELEASE_Y = 5.46
SWALLOW_DAMAGE, SPIT_DAMAGE = 8.0, 10.0
SWALLOW_X, SWALLOW_Y = -0.68, 2.54  # units a frame
SPIT_X = 3.0
SLOWING = 0.065  # share of the first speed that a frame takes
FLIGHT_FRAMES = 10


@rule
def catch(p, m, victim, memory, tables):
    """Kirby has caught the ``victim``, in the air too."""
    continue_as(p, m, tables, PULL if p.on_ground else AIR_PULL)
    enter(victim, memory, a.CAPTURE_KIRBY)
    victim.on_ground = 0
    memory.surface = -1
    victim.facing = -p.facing
    stop_caught(victim, memory)
    memory.held_for = HOLD_FRAMES
    memory.mash_x = 0
    memory.mash_y = 0


@rule
def play(p, m, tables):
    """One frame of Kirby with a full mouth, which A empties and B or a stick that is down swallows."""
    if p.action == WAIT or p.action == AIR_WAIT:
        if m.pressed & BUTTON_A:
            continue_as(p, m, tables, SPIT if p.on_ground else AIR_SPIT)
        elif m.pressed & BUTTON_B or m.stick_y <= -JUMP_STICK:
            continue_as(p, m, tables, SWALLOW if p.on_ground else AIR_SWALLOW)


@rule
def set_speed(p, m, c):
    """Walk with a full mouth."""
    if p.action == WAIT:
        p.speed_ground_x = toward(p.speed_ground_x, WALK * c.walk_max * m.stick_x, c.walk_acceleration)


@rule
def follow(p, m, tables, other, memory):
    """Draw the caught ``other`` in, keep it inside, and let it out."""
    if other.action == a.CAPTURE_KIRBY:
        other.x -= clamp(other.x - p.x, PULL_SPEED)
        other.y -= clamp(other.y - p.y - MOUTH_Y, PULL_SPEED)
        if abs(other.x - p.x) <= MOUTH_X:
            enter(other, memory, a.CAPTURE_WAIT_KIRBY)
            continue_as(p, m, tables, EAT if p.on_ground else AIR_EAT)
        return
    other.x = p.x
    other.y = p.y
    leaves = p.action == SWALLOW or p.action == AIR_SWALLOW or p.action == SPIT or p.action == AIR_SPIT
    if leaves and p.action_frame >= RELEASE_FRAME and m.frozen == 0:
        _let_out(p, m, other, memory)
    elif memory.held_for <= 0.0 and not leaves:
        other.y += MOUTH_Y
        enter(other, memory, a.CAPTURE_CUT)
        if p.on_ground:
            enter(p, m, a.CATCH_CUT)
        else:
            start_fall(p, m)


@rule
def _let_out(p, m, other, memory):
    spits = p.action == SPIT or p.action == AIR_SPIT
    note_damage(m, other, memory, SPIT_DAMAGE if spits else SWALLOW_DAMAGE)
    enter(other, memory, a.THROWN_STAR if spits else a.THROWN_COPY_STAR)
    other.facing = p.facing
    other.y += RELEASE_Y
    other.speed_air_x = p.facing * (SPIT_X if spits else SWALLOW_X)
    other.speed_y = 0.0 if spits else SWALLOW_Y
    memory.intangible = float(FLIGHT_FRAMES)


@rule
def suffer(p, m):
    """One frame of a player in the mouth, where buttons and the stick shorten the time, or on the way out."""
    if p.action == a.CAPTURE_WAIT_KIRBY:
        before = m.held_for
        loosen(m)
        m.held_for -= before - m.held_for - 1.0  # an input takes twice as much as in a grab
    elif p.action != a.CAPTURE_KIRBY and m.age >= FLIGHT_FRAMES:
        start_fall(p, m)


@rule
def fly_out(p, m):
    """Slow down in the flight out of the mouth, which gravity does not bend."""
    if m.age > 1:
        first_x = SPIT_X if p.action == a.THROWN_STAR else abs(SWALLOW_X)
        p.speed_air_x = toward(p.speed_air_x, 0.0, SLOWING * first_x)
        p.speed_y = toward(p.speed_y, 0.0, SLOWING * SWALLOW_Y)
