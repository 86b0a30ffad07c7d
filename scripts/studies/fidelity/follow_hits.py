"""Follow the hits and holds of a replay: hit groups, staleness, credit and grips."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions import grab
from selfplay_melee.physics.actions.shield import SHIELD_DAMAGE, SHIELD_DRAIN, STUN_LENGTH, is_shielding
from selfplay_melee.physics.hits.damage import is_hurt, start_hurt
from selfplay_melee.physics.hits.hit import recoil
from selfplay_melee.physics.hits.holds import note_hold
from selfplay_melee.physics.hits.knockback import LAUNCH_SPEED, shield_give, shield_stun
from selfplay_melee.physics.hits.stale import NO_MOVE, SPECIAL_MOVE, move_of, remember_move
from selfplay_melee.physics.inputs import TRIGGER_DEAD_ZONE
from selfplay_melee.physics.motion import sign

OFFSCREEN_DAMAGE = 1.0  # percent that a player beyond the camera takes every second
SLACK = 1e-3  # percent; a replay has single precision
BURST = 8  # frames within which projectiles of one use of a move hit after each other


@rule
def note_hits(players, memory, t, seat, tables):
    """Record a hit of this seat on the other one: hit groups, staleness, credit."""
    p, m = players[t, seat], memory[t, seat]
    victim, hurt = players[t, 1 - seat], memory[t, 1 - seat]
    taken = victim.percent - players[t - 1, 1 - seat].percent
    struck = p.hitlag > players[t - 1, seat].hitlag
    holding = a.CATCH_ATTACK <= p.action <= a.THROW_D and p.action != a.CATCH_CUT
    rose = taken > OFFSCREEN_DAMAGE or (taken > 0.0 and (struck or holding))
    again = not struck and not holding and hurt.last_hit_by_frames < BURST
    if rose:
        hurt.last_hit_by_frames = 0
        if is_hurt(victim.action) or a.DOWN_DAMAGE_UP <= victim.action <= a.DOWN_DAMAGE:
            start_hurt(hurt)
            hurt.lie_for = victim.hitstun
        hurt.knockback = math.sqrt(victim.speed_attack_x**2 + victim.speed_attack_y**2) / LAUNCH_SPEED
    get_up = p.action == a.DOWN_ATTACK_UP or p.action == a.DOWN_ATTACK
    get_up = get_up or p.action == a.CLIFF_ATTACK_SLOW or p.action == a.CLIFF_ATTACK_QUICK
    attack = a.JAB_1 <= p.action <= a.DAIR or p.action >= a.FIRST_SPECIAL or get_up
    if is_hurt(p.action):
        m.recoil = 0.0
    if attack and p.on_ground and victim.action == a.GUARD_STUN and struck:
        taken = players[t - 1, 1 - seat].shield - victim.shield - SHIELD_DRAIN * hurt.trigger
        m.recoil = -sign(victim.x - p.x) * recoil(hurt, max(taken, 0.0) / SHIELD_DAMAGE)
    before = players[t - 1, 1 - seat]
    if victim.action == a.GUARD_STUN and victim.hitlag > before.hitlag:
        give = shield_give(max(hurt.trigger, TRIGGER_DEAD_ZONE))
        hurt.rate = STUN_LENGTH / shield_stun(_blocked(p, m, before, victim, hurt, tables), give)
    if attack and struck and victim.hitlag > 0.0:
        m.hit_groups |= _active_groups(p, m, tables)
    if rose and not again:
        traded = struck and is_hurt(p.action) and p.percent > players[t - 1, seat].percent
        user = players[t - 1, seat] if traded else p
        _note_use(user, m, memory[t - 1, seat].staled if traded else m.staled, tables, struck or holding)


@rule
def _blocked(p, m, before, victim, hurt, tables):
    """Damage of the hit that a shield has just taken, by what it lost."""
    lost = before.shield - victim.shield
    if is_shielding(before) and before.action != a.GUARD_STUN:
        lost -= SHIELD_DRAIN * hurt.trigger_before
    damage = lost / SHIELD_DAMAGE
    entry = tables.actions[m.character_row, p.action]
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        if hit.start <= int(p.action_frame) <= hit.end and hit.shield_damage > 0.0 and p.hitlag > 0.0:
            return damage - hit.shield_damage + SLACK
    return damage + SLACK


@rule
def _active_groups(p, m, tables):
    """Bits of the groups of hits that are active on this frame."""
    entry = tables.actions[m.character_row, p.action]
    groups = 0
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        if tables.hits[row].start <= int(p.action_frame) <= tables.hits[row].end:
            groups |= 1 << tables.hits[row].group
    return groups


@rule
def _note_use(p, m, staled, tables, direct):
    """Put the move that dealt damage into the queue; a hit that its user does not feel is a projectile's."""
    move = move_of(tables.characters[m.character_row], p.action)
    if not direct:
        remember_move(m, SPECIAL_MOVE)
    elif staled == 0 and move != NO_MOVE:
        m.staled = 1
        remember_move(m, move)


@rule
def note_holds(players, memory, t, seat, tables):
    """Record how far a grab, a pummel or a throw of this seat has come."""
    p, m = players[t, seat], memory[t, seat]
    other, held = players[t, 1 - seat], memory[t, 1 - seat]
    before = players[t - 1, 1 - seat]
    if not (grab.is_holding(p) and grab.is_held(other)):
        return
    if not grab.is_held(before):
        grab.bind(p, before, held, grab.HOLD_FRAMES, grab.HOLD_PER_PERCENT, before.percent)
    elif grab.wears_out(before.action) and before.hitlag <= 1.0:
        grab.loosen(held)
    if other.hitlag > before.hitlag:
        held.held_for -= 1.0
    note_hold(p, m, tables)


@rule
def is_throw(action):
    """Whether a player throws or is thrown."""
    return a.THROW_F <= action <= a.THROW_D or a.THROWN_F <= action <= a.THROWN_D
