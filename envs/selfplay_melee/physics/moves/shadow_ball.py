"""Mewtwo's Shadow Ball: a charge in seven steps, which the player can keep for later, and a shot by its charge.

``MEMORY.stored`` is one more than the charge. It is below 0 while the move would lose the charge if it were
interrupted; the next special move then starts without. A full charge is never lost. Source: doldecomp/melee,
ftMt_SpecialN.c; figures measured from replays unless noted.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.roll import roll
from selfplay_melee.physics.actions.special_motion import continue_as

PARTS = 5  # actions on the ground, and as many in the air: start, two loops, the end of a charge that is kept, the shot
LOOP, FULL_LOOP, KEEP, SHOOT = 1, 2, 3, 4
STEP_FRAMES = 17  # of a step of the charge
FULL = 8  # of ``MEMORY.stored``
SHOT_FRAME = 8.0
RECOIL = 0.2  # units a frame for each step; in the air estimated: as on the ground


@rule
def play(p, m, tables):
    """One frame: the charge goes on, a full one is shot at once; on the ground a flick of the stick rolls away."""
    part = (p.action - a.FIRST_SPECIAL) % PARTS
    if part == SHOOT:
        if p.action_frame == SHOT_FRAME:
            _recoil(p, m)
        return
    if part == KEEP:
        if p.action_frame >= tables.actions[m.character_row, p.action].frames:
            m.stored = abs(m.stored)
        return
    if m.stored < FULL:
        m.stored = -abs(m.stored)
    elif part == LOOP:  # it was full before
        continue_as(p, m, tables, p.action + SHOOT - LOOP)
        return
    if part == LOOP:
        _charge(p, m, tables)
    if p.on_ground and LOOP <= part <= FULL_LOOP and roll(p, m):
        m.stored = abs(m.stored)


@rule
def _charge(p, m, tables):
    m.special_frames += 1
    if m.special_frames <= STEP_FRAMES:
        return
    m.special_frames = 1
    m.stored -= 1
    if m.stored == -FULL:
        frame = p.action_frame
        continue_as(p, m, tables, p.action + FULL_LOOP - LOOP)
        p.action_frame = frame
        m.stored = FULL


@rule
def _recoil(p, m):
    speed = -p.facing * RECOIL * (abs(m.stored) - 1)
    if p.on_ground:
        p.speed_ground_x = speed
    else:
        p.speed_air_x = speed


@rule
def takes_charge(m, number):
    """Whether the shot ``number`` of those in the tables is the one of the charge, which is then spent."""
    if number != abs(m.stored) - 1:
        return False
    m.stored = 1
    return True
