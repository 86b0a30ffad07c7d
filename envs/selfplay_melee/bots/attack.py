"""Choosing an attack that would connect."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bots.controls import draw, perform
from selfplay_melee.bots.perception import GRAB, NO_ATTACK, effect, moves, side_of, startup
from selfplay_melee.phase import busy_for

AIMED = moves(a.FSMASH)  # turns to the side that it is aimed at
RUNNING = GRAB | moves(a.FSMASH, a.USMASH, a.DSMASH)  # what can be started while dashing
CATCH_BIT = 31
PATIENCE = 12.0  # frames that an attack may be too late before its worth is halved


@rule
def choose(bot, me, other, tables, stage, known, noise, time):
    """The best attack that would connect now, or NO_ATTACK.

    ``known``: the attacks to choose from, see ``perception.moves``. ``time``: frames that it may take before it hits.
    ``noise``: error of the judgement, in percent of damage.
    """
    if me.action == a.DASH or me.action == a.RUN:
        known &= RUNNING
    side = side_of(me, other)
    opening = busy_for(other, tables)
    best, best_value = NO_ATTACK, 0.0
    for bit in range(CATCH_BIT + 1):
        if known >> bit & 1 == 0:
            continue
        action = a.CATCH if bit == CATCH_BIT else a.JAB_1 + bit
        start = startup(me, tables, action)
        if start > time:
            continue
        facing = side if AIMED >> bit & 1 else me.facing
        value = effect(me, other, tables, stage, action, facing, 0.0)
        if value > 0.0:
            late = max(start - opening, 0.0)
            value = value * PATIENCE / (PATIENCE + late) + noise * draw(bot)
            if value > best_value:
                best, best_value = action, value
    return best


@rule
def strike(bot, pad, me, other, tables, stage, known, noise, time):
    """Start the best attack that would connect; False if there is none."""
    if other.invulnerable:
        return False
    action = choose(bot, me, other, tables, stage, known, noise, time)
    if action == NO_ATTACK:
        return False
    perform(bot, pad, me, action, side_of(me, other))
    return True
