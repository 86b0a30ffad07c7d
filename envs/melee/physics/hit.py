"""Finding and applying hits. The hits of both seats are found before either is applied, so that trades happen."""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.physics.attack import charge_factor
from envs.melee.physics.change import enter
from envs.melee.physics.contact import hit_touches_body, hit_touches_shield
from envs.melee.physics.damage import MAX_PERCENT, launch, launch_speed, start_throw
from envs.melee.physics.grab import FULL_WEIGHT, follow, is_held, is_holding, let_go, release, start_hold
from envs.melee.physics.inputs import TRIGGER_DEAD_ZONE
from envs.melee.physics.knockback import CROUCH_FACTOR, hitlag, knockback, launch_angle, shield_give, shield_stun
from envs.melee.physics.memory import STALE_QUEUE
from envs.melee.physics.motion import sign
from envs.melee.physics.shield import SHIELD_DAMAGE, STUN_LENGTH, break_shield
from envs.melee.tables.layout import EVERYBODY, GRAB_HIT, GROUNDED, LASER_HIT, THROW_HIT

NO_HIT = -1
FARTHEST_HIT = 80.0  # units; no attack reaches so far, so that nothing need be looked up
STALE_FIRST = 0.09  # damage share that the newest entry of the staleness queue takes; each older one 0.01 less
STALE_STEP = 0.01
ELECTRIC_HITLAG = 1.5  # of the victim
PUSH_BASE = 0.24  # units a frame that a hit on a shield pushes its bearer, and
PUSH_PER_DAMAGE = 0.18  # per damage and ``shield_give``; both measured from replays
RECOIL_BASE = 0.02  # units a frame that it sends the attacker back, and
RECOIL_PER_DAMAGE = 0.1  # per damage and trigger beyond its dead zone; both measured from replays


@rule
def resolve_hits(players, memory, tables):
    """Find and apply the hits, grabs and throws of both seats."""
    first = find_hit(players[0], memory[0], players[1], memory[1], tables)
    second = find_hit(players[1], memory[1], players[0], memory[0], tables)
    if first == NO_HIT and second == NO_HIT:
        return
    # All that the second application reads of the first victim must be taken before it changes.
    first_blocked = first != NO_HIT and _blocks(players[0], memory[0], players[1], memory[1], tables, first)
    second_blocked = second != NO_HIT and _blocks(players[1], memory[1], players[0], memory[0], tables, second)
    first_side = _side(players[0], players[1])
    second_side = _side(players[1], players[0])
    first_damage = damage_of(players[0], memory[0], tables, first)
    second_damage = damage_of(players[1], memory[1], tables, second)
    first_grabs = first != NO_HIT and tables.hits[first].kind == GRAB_HIT
    second_grabs = second != NO_HIT and tables.hits[second].kind == GRAB_HIT
    if first != NO_HIT:
        _note_hit(players[0], memory[0], tables, first)
    if second != NO_HIT:
        _note_hit(players[1], memory[1], tables, second)
    if first_grabs or second_grabs:
        # A grab loses to any attack, and two grabs cancel out.
        if first_grabs and second == NO_HIT:
            start_hold(players[0], memory[0], players[1], memory[1])
        elif second_grabs and first == NO_HIT:
            start_hold(players[1], memory[1], players[0], memory[0])
        first = NO_HIT if first_grabs else first
        second = NO_HIT if second_grabs else second
    if first != NO_HIT:
        _apply(players[0], memory[0], players[1], memory[1], tables, first, first_blocked, first_side, first_damage)
    if second != NO_HIT:
        _apply(players[1], memory[1], players[0], memory[0], tables, second, second_blocked, second_side, second_damage)


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
        if hit.kind == GRAB_HIT and (not victim.on_ground or is_holding(victim)):
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
    """Damage of a hit after staleness and charge."""
    if row == NO_HIT:
        return 0.0
    return tables.hits[row].damage * stale_share(m, p.action) * charge_factor(m)


@rule
def stale_share(m, action):
    """Share of its damage that a move keeps after its recent uses."""
    share = 1.0
    for i in range(STALE_QUEUE):
        if m.stale[i] == action:
            share -= STALE_FIRST - STALE_STEP * i
    return share


@rule
def _note_hit(p, m, tables, row):
    """Mark this hit group as connected, and stale the move once per use."""
    m.hit_groups |= 1 << tables.hits[row].group
    if m.staled or tables.hits[row].kind == GRAB_HIT:
        return
    m.staled = 1
    remember_move(m, p.action)


@rule
def remember_move(m, action):
    """Put a move that connected into the staleness queue."""
    for i in range(STALE_QUEUE - 1, 0, -1):
        m.stale[i] = m.stale[i - 1]
    m.stale[0] = action


@rule
def _apply(p, m, victim, memory, tables, row, blocked, side, damage):
    hit = tables.hits[row]
    lag = float(hitlag(damage))
    p.hitlag = max(p.hitlag, lag)
    # Both may hit each other: the longer lag counts, in either order.
    victim.hitlag = max(victim.hitlag, math.floor(lag * ELECTRIC_HITLAG) if hit.electric else lag)
    if blocked:
        if p.on_ground:
            m.recoil = -side * recoil(memory, damage)
        hit_shield(victim, memory, damage, hit.shield_damage, side)
        return
    hurt(m, victim, memory, tables, row, side, damage)


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
def hurt(m, victim, memory, tables, row, side, damage):
    """Apply damage and launch of a hit that was not blocked."""
    hit = tables.hits[row]
    percent = math.floor(victim.percent) + damage
    note_damage(m, victim, memory, damage)
    value = knockback_on(m, victim, memory, tables, row, percent)
    angle = math.radians(launch_angle(hit.angle, value, victim.on_ground != 0))
    speed = launch_speed(value)
    launch(victim, memory, value, side * speed * math.cos(angle), speed * math.sin(angle))
    victim.facing = -side


@rule
def knockback_on(m, victim, memory, tables, row, percent):
    """Knockback of a hit; ``percent``: the whole percent before it and its damage.

    A stale move deals less damage, but launches by the damage that it deals when fresh. Throws treat
    all victims as equally heavy.
    """
    hit = tables.hits[row]
    c = tables.characters[memory.character_row]
    strength = hit.damage * charge_factor(m)
    weight = FULL_WEIGHT if hit.kind == THROW_HIT else c.weight
    value = knockback(percent, strength, weight, hit.kb_growth, hit.kb_base, hit.kb_fixed)
    if victim.action == a.SQUAT or victim.action == a.SQUAT_WAIT:
        value *= CROUCH_FACTOR
    return value


@rule
def note_damage(m, victim, memory, damage):
    """Add damage to the victim and credit the attacker."""
    victim.percent = min(victim.percent + damage, MAX_PERCENT)
    m.damage_dealt += damage
    memory.last_hit_by_frames = 0


@rule
def resolve_holds(players, memory, tables):
    """Move held players with their holders; end holds that one side has left."""
    for seat in range(2):
        p, m = players[seat], memory[seat]
        other, remembered = players[1 - seat], memory[1 - seat]
        if is_held(other) and not is_holding(p):
            release(other, remembered)
        elif is_holding(p) and not is_held(other):
            if p.action < a.THROW_F:
                enter(p, m, a.CATCH_CUT)
        elif is_holding(p):
            follow(p, m, tables, other, remembered)


@rule
def hold_hits(players, memory, tables):
    """Apply pummels and release throws before players move: a thrown player moves on the same frame."""
    for seat in range(2):
        p, m = players[seat], memory[seat]
        other, remembered = players[1 - seat], memory[1 - seat]
        if is_holding(p) and is_held(other) and p.hitlag <= 0.0:
            _hold_hits(p, m, other, remembered, tables)


@rule
def _hold_hits(p, m, other, remembered, tables):
    """Apply a pummel, or release a throw, on this frame."""
    entry = tables.actions[m.character_row, p.action]
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        if p.action_frame < hit.start or m.hit_groups & (1 << hit.group) or hit.kind == LASER_HIT:
            continue
        damage = damage_of(p, m, tables, row)
        _note_hit(p, m, tables, row)
        if hit.kind == THROW_HIT:
            let_go(p, m, tables, other, hit.first_point)
            hurt(m, other, remembered, tables, row, p.facing, damage)
            start_throw(other, remembered)
            return
        note_damage(m, other, remembered, damage)
