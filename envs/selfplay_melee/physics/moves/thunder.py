"""Pikachu's down special: a bolt of four pieces falls on it from a cloud and, where it meets Pikachu, makes a blast.

A piece hangs down from its place by its length, falls through players and shields, and hurts each once. In its last
frames, after its lower end has met a floor or Pikachu, it only draws after. Pieces that the game keeps in the cloud
until their turn come to it from above here, where they do not hurt. Rules: doldecomp/melee, ftPk_SpecialLw.c and
itpikachuthunder.c; times, length and speed measured from a replay.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.actions.special_motion import continue_as
from selfplay_melee.physics.memory import MAX_LASERS
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.moves.floors import NO_FLOOR, floor_between
from selfplay_melee.tables.layout import THUNDER

START, WAIT, BLAST, END = 359, 360, 361, 362
AIR = 4  # from an action on the ground to the same in the air
PIECES = 4
FIRST_LIFE = 62.0  # of the first piece in the tables; that of each other has the wait for its turn on top
FALL_LIFE = 61.0  # most that a piece which is out of the cloud has left
LAST_LIFE = 8.0  # with which a piece only draws after
LENGTH = 40.0  # units
TOUCH = 13.32  # units from Pikachu's feet, each way, within which it meets the lower end; Super Smash Bros. Brawl's
NONE = -1


@rule
def play(p, m, tables):
    """One frame: wait for the bolt until it meets Pikachu or ends elsewhere."""
    air = AIR if p.action > END else 0
    part = p.action - air
    if part == START:
        m.move_count = 0
    elif part == WAIT and m.move_count > 0:
        i = _first_piece(m, tables)
        if i == NONE:
            continue_as(p, m, tables, END + air)
        elif _meets(p, m, i):
            _end_bolt(m, tables)
            continue_as(p, m, tables, BLAST + air)


@rule
def fires(m, number):
    """Whether this piece falls: each does once, though the animation of the wait begins again and again."""
    if m.move_count > 0:
        return False
    m.move_count = 1 if number == PIECES - 1 else 0
    return True


@rule
def _first_piece(m, tables):
    """The first piece of the newest bolt, or NONE."""
    found = NONE
    for i in range(MAX_LASERS):
        if m.laser_life[i] > 0.0:
            hit = tables.hits[m.laser_hit[i]]
            first = hit.own == THUNDER and hit.life == FIRST_LIFE
            if first and (found == NONE or m.laser_life[i] > m.laser_life[found]):
                found = i
    return found


@rule
def _meets(p, m, i):
    gap_x, gap_y = m.laser_x[i] - p.x, m.laser_y[i] - LENGTH - p.y
    return m.laser_life[i] > LAST_LIFE and abs(gap_x) < TOUCH and abs(gap_y) < TOUCH


@rule
def _end_bolt(m, tables):
    """Let the pieces end where the first one does."""
    for i in range(MAX_LASERS):
        if m.laser_life[i] > 0.0:
            hit = tables.hits[m.laser_hit[i]]
            if hit.own == THUNDER:
                m.laser_life[i] = min(m.laser_life[i], LAST_LIFE + 1.0 + hit.life - FIRST_LIFE)


@rule
def fly(m, i, s):
    """End soon where the lower end meets a floor."""
    if m.laser_life[i] <= FALL_LIFE:
        x, y = m.laser_x[i], m.laser_y[i] - LENGTH
        if floor_between(m, s, x, y, x, y + m.laser_speed_y[i]) != NO_FLOOR:
            m.laser_life[i] = min(m.laser_life[i], LAST_LIFE + 1.0)


@rule
def is_harmless(m, i):
    """Whether a piece is above the cloud, only draws after, or has hurt."""
    return m.laser_life[i] > FALL_LIFE or m.laser_life[i] <= LAST_LIFE or m.laser_power[i] == 0.0


@rule
def spend(m, i):
    """Note that a piece has hurt; it flies on."""
    m.laser_power[i] = 0.0


@rule
def side(m, i, victim):
    """Where it sends the victim: away from it; estimated."""
    gap = sign(victim.x - m.laser_x[i])
    return gap if gap != 0.0 else -victim.facing
