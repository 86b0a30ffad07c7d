"""Finding and applying hits. The hits of both seats are found before either is applied, so that trades happen."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.attack import charge_factor, is_charging
from selfplay_melee.physics.actions.down import is_down
from selfplay_melee.physics.actions.grab import FULL_WEIGHT, is_held, is_holding, start_hold
from selfplay_melee.physics.actions.shield import SHIELD_DAMAGE, STUN_LENGTH, break_shield
from selfplay_melee.physics.actions.special import follow_touch
from selfplay_melee.physics.change import enter
from selfplay_melee.physics.hits.contact import centre, hit_touches_body, hit_touches_shield
from selfplay_melee.physics.hits.damage import HIGH_PART, LOW_PART, MIDDLE_PART, launch, note_damage
from selfplay_melee.physics.hits.knockback import (
    CHARGING_FACTOR,
    CROUCH_FACTOR,
    hitlag,
    knockback,
    launch_angle,
    shield_give,
    shield_stun,
)
from selfplay_melee.physics.hits.stale import move_of, remember_move, stale_share
from selfplay_melee.physics.inputs import TRIGGER_DEAD_ZONE
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.moves.calls import own_hit, own_rest
from selfplay_melee.physics.moves.headbutt import is_buried
from selfplay_melee.physics.moves.stone import absorb, absorbs
from selfplay_melee.tables.layout import ATTACK_HIT, EVERYBODY, GRAB_HIT, GROUNDED, THROW_HIT

NO_HIT = -1
FARTHEST_HIT = 80.0  # units; no attack reaches so far, so that nothing need be looked up
LOW_SHARE = 0.2  # of the height, below which a hit meets the legs
ELECTRIC_HITLAG = 1.5  # of the victim
CROUCH_HITLAG = 2.0 / 3.0
RESET_DAMAGE = 7.0  # from which a hit launches a lying player
PUSH_BASE = 0.24  # units a frame that a hit on a shield pushes its bearer, and
PUSH_PER_DAMAGE = 0.18  # per damage and ``shield_give``; both measured from replays
RECOIL_BASE = 0.02  # units a frame that it sends the attacker back, and
RECOIL_PER_DAMAGE = 0.1  # per damage and trigger beyond its dead zone; both measured from replays


@rule
def resolve_hits(players, memory, tables):
    """Find and apply the hits, grabs and throws of both seats."""
    first = find_hit(players[0], memory[0], players[1], memory[1], tables)
    second = find_hit(players[1], memory[1], players[0], memory[0], tables)
    # An action that only looks for the opponent changes into the one that hits.
    if first != NO_HIT and follow_touch(players[0], memory[0], tables):
        first = NO_HIT
    if second != NO_HIT and follow_touch(players[1], memory[1], tables):
        second = NO_HIT
    if first == NO_HIT and second == NO_HIT:
        return
    # All that the second application reads of the first victim must be taken before it changes.
    first_blocked = first != NO_HIT and _blocks(players[0], memory[0], players[1], memory[1], tables, first)
    second_blocked = second != NO_HIT and _blocks(players[1], memory[1], players[0], memory[0], tables, second)
    first_side = _side(players[0], players[1])
    second_side = _side(players[1], players[0])
    first_damage = damage_of(players[0], memory[0], tables, first)
    second_damage = damage_of(players[1], memory[1], tables, second)
    first_charge = charge_factor(memory[0])
    second_charge = charge_factor(memory[1])
    first_grabs = first != NO_HIT and tables.hits[first].kind == GRAB_HIT
    second_grabs = second != NO_HIT and tables.hits[second].kind == GRAB_HIT
    if first != NO_HIT:
        note_hit(players[0], memory[0], tables, first, first_blocked)
    if second != NO_HIT:
        note_hit(players[1], memory[1], tables, second, second_blocked)
    if first_grabs or second_grabs:
        # A grab loses to any attack, and two grabs cancel out.
        if first_grabs and second == NO_HIT:
            _catch(players[0], memory[0], players[1], memory[1], tables, first)
        elif second_grabs and first == NO_HIT:
            _catch(players[1], memory[1], players[0], memory[0], tables, second)
        first = NO_HIT if first_grabs else first
        second = NO_HIT if second_grabs else second
    if first != NO_HIT:
        apply_hit(
            players[0], memory[0], players[1], memory[1], tables,
            first, first_blocked, first_side, first_damage, first_charge,
        )  # fmt: skip
    if second != NO_HIT:
        apply_hit(
            players[1], memory[1], players[0], memory[0], tables,
            second, second_blocked, second_side, second_damage, second_charge,
        )  # fmt: skip


@rule
def _catch(p, m, victim, memory, tables, row):
    if tables.hits[row].own == 0 or not own_hit(p, m, victim, memory, tables, row, 0.0):
        start_hold(p, m, victim, memory)


@rule
def find_hit(p, m, victim, memory, tables):
    """Row of the hit of ``p`` that connects with ``victim`` on this frame, or NO_HIT."""
    entry = tables.actions[m.character_row, p.action]
    if entry.num_hits == 0 or p.hitlag > 0.0 or victim.invulnerable or is_held(victim):
        return NO_HIT
    if abs(victim.x - p.x) > FARTHEST_HIT or abs(victim.y - p.y) > FARTHEST_HIT:
        return NO_HIT
    frame = int(p.action_frame)
    found = NO_HIT
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        if not hit.start <= frame <= hit.end or m.hit_groups & (1 << hit.group) or hit.kind >= THROW_HIT:
            continue
        if hit.kind == GRAB_HIT and (is_holding(victim) or is_buried(victim)):
            continue
        if hit.own > 0 and own_rest(m, hit.own):
            continue
        if hit.targets != EVERYBODY and (hit.targets == GROUNDED) != (victim.on_ground != 0):
            continue
        if hit.kind != GRAB_HIT and hit_touches_shield(p, m, victim, memory, tables, row):
            return row
        if found == NO_HIT and hit_touches_body(p, m, victim, memory, tables, row):
            found = row
    return found


@rule
def _blocks(p, m, victim, memory, tables, row):
    return tables.hits[row].kind != GRAB_HIT and hit_touches_shield(p, m, victim, memory, tables, row)


@rule
def _side(p, victim):
    """Direction away from the attacker."""
    side = sign(victim.x - p.x)
    return side if side != 0.0 else p.facing


@rule
def damage_of(p, m, tables, row):
    """Damage of a hit after staleness and charge.

    The game works it out as a hit begins. The release of a throw begins with the throw, so that hits
    of the throw itself do not make it stale.
    """
    if row == NO_HIT:
        return 0.0
    move = move_of(tables.characters[m.character_row], p.action)
    newest = 1 if m.staled and tables.hits[row].kind == THROW_HIT else 0
    return tables.hits[row].damage * stale_share(m, move, newest) * charge_factor(m)


@rule
def note_hit(p, m, tables, row, blocked):
    """Mark this hit group as connected; a use that deals damage enters the staleness queue, once."""
    m.hit_groups |= 1 << tables.hits[row].group
    m.strike_y = centre(p, m, tables, row)[1] if tables.hits[row].kind == ATTACK_HIT else p.y
    if m.staled or blocked or tables.hits[row].kind == GRAB_HIT:
        return
    m.staled = 1
    remember_move(m, move_of(tables.characters[m.character_row], p.action))


@rule
def apply_hit(p, m, victim, memory, tables, row, blocked, side, damage, charge):
    hit = tables.hits[row]
    if damage > 0.0:
        # Both may hit each other: the longer lag counts, in either order.
        p.hitlag = max(p.hitlag, float(hitlag(damage)))
        victim.hitlag = max(victim.hitlag, victim_hitlag(victim, damage, hit.electric))
    elif blocked:
        return
    if blocked:
        if p.on_ground:
            m.recoil = -side * recoil(memory, damage)
        hit_shield(victim, memory, damage, hit.shield_damage, side)
        return
    if hit.own > 0 and own_hit(p, m, victim, memory, tables, row, damage):
        return
    part = part_at(victim, memory, tables, m.strike_y)
    hurt(m, victim, memory, tables, row, side, damage, charge, part)


@rule
def part_at(victim, memory, tables, y):
    """The part of the body that a hit at this height meets; shares of the height were fitted to replays."""
    height = tables.characters[memory.character_row].hurt_height
    if y < victim.y + LOW_SHARE * height:
        return LOW_PART
    return MIDDLE_PART if y < victim.y + height else HIGH_PART


@rule
def victim_hitlag(victim, damage, electric):
    """Frames for which a hit freezes the victim: longer by electric hits, shorter if it crouches."""
    lag = float(hitlag(damage))
    if electric:
        lag = math.floor(lag * ELECTRIC_HITLAG)
    return math.floor(lag * CROUCH_HITLAG) if is_crouching(victim) else lag


@rule
def is_crouching(p):
    """Whether a crouch softens hits."""
    return p.action == a.SQUAT or p.action == a.SQUAT_WAIT


@rule
def hit_shield(victim, memory, damage, extra, side):
    """Apply a hit to a shield: damage, stun and push, or a break."""
    victim.shield -= (damage + extra) * SHIELD_DAMAGE
    if victim.shield <= 0.0:
        victim.hitlag = 0.0
        break_shield(victim, memory)
        return
    enter(victim, memory, a.GUARD_STUN)
    give = shield_give(_hold(memory))
    memory.rate = STUN_LENGTH / shield_stun(damage, give)
    victim.speed_ground_x += side * (PUSH_BASE + PUSH_PER_DAMAGE * damage * give)


@rule
def recoil(memory, damage):
    """Speed at which a shield pushes its attacker back."""
    return RECOIL_BASE + RECOIL_PER_DAMAGE * damage * (_hold(memory) - TRIGGER_DEAD_ZONE)


@rule
def _hold(memory):
    """How far down the trigger of a shield is, 0.3 to 1."""
    return max(memory.trigger, TRIGGER_DEAD_ZONE)


@rule
def hurt(m, victim, memory, tables, row, side, damage, factor, part):
    """Apply damage and launch of a hit on a ``part`` of the body; ``factor``: see ``knockback_on``."""
    hit = tables.hits[row]
    if absorbs(victim, memory, tables):
        damage = absorb(memory, damage)
        if damage == 0.0:
            return
    percent = math.floor(victim.percent) + damage
    note_damage(m, victim, memory, damage)
    if is_buried(victim):
        return
    value = knockback_on(victim, memory, tables, row, percent, factor)
    lying = is_down(victim) and damage < RESET_DAMAGE
    launch(victim, memory, value, launch_angle(hit.angle, value, victim.on_ground != 0), side, part, lying)
    if not lying:
        victim.facing = -side


@rule
def knockback_on(victim, memory, tables, row, percent, factor):
    """Knockback of a hit; ``percent``: the whole percent before it and its damage; ``factor``: of its fresh damage.

    A stale move deals less damage, but launches by the damage that it deals when fresh. Throws treat
    all victims as equally heavy.
    """
    hit = tables.hits[row]
    c = tables.characters[memory.character_row]
    strength = hit.damage * factor
    weight = FULL_WEIGHT if hit.kind == THROW_HIT else c.weight
    value = knockback(percent, strength, weight, hit.kb_growth, hit.kb_base, hit.kb_fixed)
    if is_crouching(victim):
        value *= CROUCH_FACTOR
    if is_charging(victim, memory, tables):
        value *= CHARGING_FACTOR
    return value
