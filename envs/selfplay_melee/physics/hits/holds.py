"""The hits of holders on those whom they hold: pummels and throws; and the end of holds."""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.grab import (
    break_free,
    follow,
    has_inhaled,
    is_confused,
    is_held,
    is_holding,
    let_go,
    pummelled,
    release,
)
from selfplay_melee.physics.change import enter
from selfplay_melee.physics.hits.damage import MIDDLE_PART, note_damage, start_throw
from selfplay_melee.physics.hits.hit import damage_of, hurt, note_hit, victim_hitlag
from selfplay_melee.physics.hits.knockback import hitlag
from selfplay_melee.physics.moves import inhale
from selfplay_melee.physics.moves.confusion import drop, spin
from selfplay_melee.tables.layout import CONFUSION, LASER_HIT, THROW_HIT


@rule
def resolve_holds(players, memory, tables):
    """Move held players with their holders; end holds that one side has left."""
    for seat in range(2):
        p, m = players[seat], memory[seat]
        other, remembered = players[1 - seat], memory[1 - seat]
        if is_confused(other):
            spin(p, m, tables, other, remembered)
        elif is_held(other) and not is_holding(p):
            release(other, remembered)
        elif is_holding(p) and not is_held(other):
            if p.action < a.THROW_F:
                enter(p, m, a.CATCH_CUT)
        elif is_holding(p):
            if has_inhaled(p):
                inhale.follow(p, m, tables, other, remembered)
            else:
                follow(p, m, tables, other, remembered)


@rule
def hold_hits(players, memory, tables):
    """Break grips, apply pummels and release throws before players move: they move on the same frame."""
    for seat in range(2):
        p, m = players[seat], memory[seat]
        other, remembered = players[1 - seat], memory[1 - seat]
        if not (is_holding(p) and is_held(other)) and not is_confused(other):
            continue
        if break_free(p, m, other, remembered):
            continue
        if m.frozen == 0:
            _hold_hits(p, m, other, remembered, tables)


@rule
def _hold_hits(p, m, other, remembered, tables):
    """Apply a pummel, or hit and release with a throw, on this frame."""
    entry = tables.actions[m.character_row, p.action]
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        held = hit.end - hit.start if hit.own == CONFUSION else 0
        if m.hit_groups & (1 << hit.group) or hit.kind == LASER_HIT or not _has_come(p, m, hit.start + held):
            continue
        damage = damage_of(p, m, tables, row)
        note_hit(p, m, tables, row, False)
        if hit.kind == THROW_HIT:
            let_go(p, m, tables, other, hit.first_point + held)
            if hit.own == CONFUSION:
                note_damage(m, other, remembered, damage)
                drop(other, remembered)
                return
            hurt(m, other, remembered, tables, row, p.facing, damage, 1.0, MIDDLE_PART)
            start_throw(other, remembered, p.action == a.THROW_D, hit.angle)
            return
        note_damage(m, other, remembered, damage)
        p.hitlag = float(hitlag(damage))
        other.hitlag = victim_hitlag(other, damage, hit.electric)
        if p.action == a.CATCH_ATTACK:
            pummelled(other, remembered)


@rule
def _has_come(p, m, frame):
    """Whether a frame of a pummel or a throw has come.

    The game counts down to it in single precision; the rest may be above 0 where counting up has just reached it.
    Source: doldecomp/melee, ftaction.c.
    """
    if m.rate == 1.0 or p.action_frame < frame:
        return p.action_frame >= frame
    left = np.float32(frame)
    for _ in range(int(p.action_frame / m.rate + 0.5)):
        left = np.float32(left - np.float32(m.rate))
    return left <= 0.0


@rule
def note_hold(p, m, tables):
    """Mark the hits of a pummel or a throw that have come as connected."""
    entry = tables.actions[m.character_row, p.action]
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        if _has_come(p, m, tables.hits[row].start):
            m.hit_groups |= 1 << tables.hits[row].group
