"""Rolling, which more than a shield allows."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.change import enter
from selfplay_melee.physics.inputs import DODGE_STICK, SMASH_AGE


@rule
def roll(p, m):
    """Roll if a stick asks for it; whether it does."""
    x = 0.0
    if abs(m.stick_x) >= DODGE_STICK and m.x_age < SMASH_AGE:
        x = m.stick_x
    elif abs(m.c_x) >= DODGE_STICK:
        x = m.c_x
    if x == 0.0:
        return False
    enter(p, m, a.ROLL_F if x * p.facing > 0.0 else a.ROLL_B)
    return True
