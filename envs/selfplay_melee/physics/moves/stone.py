"""Kirby's down special: a stone that falls fast, takes hits without being moved, and lasts until B or a while.

``move_value`` is the damage that the stone can still take. Rules: doldecomp/melee, ftkirbyspeciallw.c. Figures: as a
port of it documents them from the game's files. Left out: sliding down slopes.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_B
from selfplay_melee.physics.actions.special_motion import continue_as, special_row
from selfplay_melee.tables.layout import STONE

GROUND, END, AIR, AIR_END = 394, 395, 397, 398
HEALTH = 38.0
MOST_FRAMES, LEAST_FRAMES = 150, 18  # as a stone


@rule
def play(p, m, tables):
    """One frame: a stone on the ground or in the air ends at B or after its time."""
    stone = p.action == GROUND or p.action == AIR
    if not stone:
        if p.action != END and p.action != AIR_END:  # it has not begun
            m.move_value = 0.0
            m.move_count = MOST_FRAMES
        return
    if m.age == 0:
        m.move_value = HEALTH
    if m.move_count <= 0 or (m.move_count <= MOST_FRAMES - LEAST_FRAMES and m.pressed & BUTTON_B):
        continue_as(p, m, tables, END if p.action == GROUND else AIR_END)
    else:
        m.move_count -= 1


@rule
def absorbs(p, m, tables):
    """Whether the player is a stone that takes hits."""
    return p.action >= a.FIRST_SPECIAL and m.move_value > 0.0 and special_row(p, m, tables).own == STONE


@rule
def absorb(m, damage):
    """Damage that is left of a hit on a stone."""
    left = max(damage - m.move_value, 0.0)
    m.move_value = max(m.move_value - damage, 0.0)
    return left
