"""The phase of a player's action: frames until it can act, and until its next hit.

Characters and actions without a table count as free to act and without hits.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.tables.layout import NUM_IDS

NO_HIT = -1.0


@rule
def character_row(p, tables):
    """Row of the player's character in the tables, -1 if there is none."""
    if 0 <= p.character < NUM_IDS:
        return tables.character_rows[p.character]
    return -1


@rule
def busy_for(p, tables):
    """Estimated frames until a player can act again; 0 if it can."""
    action, frame = p.action, p.action_frame
    row = character_row(p, tables)
    if row < 0 or not 0 <= action < a.NUM_ACTIONS:
        return 0.0
    entry = tables.actions[row, action]
    if p.hitstun > 0.0:
        return p.hitlag + p.hitstun
    if a.LANDING_NAIR <= action <= a.LANDING_DAIR:
        return max(tables.actions[row, action - a.LANDING_NAIR + a.NAIR].landing_lag - frame, 0.0)
    if action == a.FALL_SPECIAL or a.SHIELD_BREAK_FLY <= action <= a.DIZZY or action == a.DAMAGE_BIND:
        return 30.0
    if action == a.LANDING_FALL_SPECIAL:
        return max(10.0 - frame, 0.0)
    if a.BURY <= action <= a.BURY_WAIT or a.DAMAGE_SONG <= action <= a.DAMAGE_SONG_END:
        return 30.0
    if action >= a.FIRST_SPECIAL:
        return 10.0
    waits = (
        a.JAB_1 <= action <= a.DAIR
        or a.DOWN_BOUND_UP <= action <= a.CEILING_TECH
        or action == a.CATCH
        or action == a.CATCH_DASH
        or a.ROLL_F <= action <= a.AIR_DODGE
        or a.CLIFF_CLIMB_SLOW <= action <= a.CLIFF_ROLL_QUICK
    )
    if not waits:
        return p.hitlag
    last = float(entry.iasa) if entry.iasa > 0 else float(entry.frames)
    return max(p.hitlag + last - frame, 0.0)


@rule
def next_hit(p, tables):
    """Frames until a hit circle of the player's action comes out; 0 while one is out, NO_HIT if none will."""
    row = character_row(p, tables)
    if row < 0 or not 0 <= p.action < a.NUM_ACTIONS:
        return NO_HIT
    entry = tables.actions[row, p.action]
    nearest = NO_HIT
    for i in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[i]
        if p.action_frame > hit.end:
            continue
        wait = max(hit.start - p.action_frame, 0.0)
        if nearest == NO_HIT or wait < nearest:
            nearest = wait
    return nearest
