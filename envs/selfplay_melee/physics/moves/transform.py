"""Sheik and Zelda become each other: the player's character and the row of its tables change.

Source: doldecomp/melee, ftCommon_8007EFC8; all that the mock remembers of a player is carried over.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule

SHEIK, ZELDA = 7, 19  # internal ids
SHIFT = 6  # from the number of an action of Zelda's transformation to that of Sheik's


@rule
def play(p, m, tables):
    """Change the character as the second part of the move begins, which is the other's: no other begins in the move."""
    if m.age > 0:
        return
    character = SHEIK + ZELDA - p.character
    row = tables.character_rows[character]
    if row < 0:  # the tables of a page may lack the other
        return
    p.action += SHIFT if character == SHEIK else -SHIFT
    p.character = character
    m.character_row = row
    m.air_jumps = int(tables.characters[row].air_jumps)
    m.move_count += 1


@rule
def restore_character(p, m):
    """Before a new game: be the character again with which the last one began."""
    if m.move_count % 2 == 1 and (p.character == SHEIK or p.character == ZELDA):
        p.character = SHEIK + ZELDA - p.character
