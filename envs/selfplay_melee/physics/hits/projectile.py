"""Lasers: firing, flight, hits, blocks and reflection.

A player's lasers are in its memory. Those of both seats are moved and checked before any hit is applied, so that no
seat has an advantage. A laser without knockback, such as Fox's, only adds damage.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.grab import is_held
from selfplay_melee.physics.actions.shield import is_shielding
from selfplay_melee.physics.actions.special import show_reflection
from selfplay_melee.physics.actions.special_motion import is_special, special_row
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.hits.contact import from_point, touches_body, touches_shield
from selfplay_melee.physics.hits.damage import note_damage
from selfplay_melee.physics.hits.hit import hit_shield, hurt, part_at, victim_hitlag
from selfplay_melee.physics.hits.knockback import hitlag
from selfplay_melee.physics.hits.stale import move_of, stale_share
from selfplay_melee.physics.memory import MAX_LASERS
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.moves import thunder
from selfplay_melee.physics.moves.calls import own_flight, own_hit, own_mirror, own_reflection, own_shot, passes_by
from selfplay_melee.physics.stages.stage import inside_body
from selfplay_melee.tables.layout import LASER_HIT, THUNDER

NONE = -1
BODY, SHIELD, REFLECTOR = 0, 1, 2  # what a laser meets
REFLECTED_POWER = 1.5  # damage of a laser that was sent back
FARTHEST_PART = 60.0  # units from the feet; no body, shield or reflector reaches so far
REFLECT_FRAMES = 2  # of a shield that was just raised


@rule
def shoot(p, m, c, tables):
    """Fire on the frames that the tables give."""
    if p.hitlag > 0.0 or not (is_special(p, c) or a.THROW_F <= p.action <= a.THROW_D):
        return
    entry = tables.actions[m.character_row, p.action]
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        if hit.kind == LASER_HIT and p.action_frame >= hit.start and not m.hit_groups & (1 << hit.group):
            m.hit_groups |= 1 << hit.group
            if p.action_frame - m.rate >= hit.start or (hit.stored and m.stored <= 0):
                continue
            if hit.own == 0 or own_shot(m, row - entry.first_hit, hit.own):
                m.stored -= hit.stored
                _fire(p, m, tables, row)


@rule
def _fire(p, m, tables, row):
    hit = tables.hits[row]
    for i in range(MAX_LASERS):
        if m.laser_life[i] <= 0.0:
            m.lasers += 1
            m.laser_life[i] = hit.life
            m.laser_hit[i] = row
            m.laser_action[i] = p.action
            m.laser_power[i] = 1.0
            m.laser_speed_x[i] = hit.speed_x * p.facing
            m.laser_speed_y[i] = hit.speed_y
            # One step back: it flies on its first frame too.
            m.laser_x[i] = p.x + p.facing * tables.points[hit.first_point, 0] - m.laser_speed_x[i]
            m.laser_y[i] = p.y + tables.points[hit.first_point, 1] - m.laser_speed_y[i]
            return


@rule
def move_lasers(players, memory, s, tables):
    """Move all lasers and apply their hits."""
    if memory[0].lasers == 0 and memory[1].lasers == 0:
        return
    _fly(memory[0], s, tables)
    _fly(memory[1], s, tables)
    first = _find(memory[0], players[1], memory[1], tables)
    second = _find(memory[1], players[0], memory[0], tables)
    first_code = _meets(memory[0], first, players[1], memory[1], tables)
    second_code = _meets(memory[1], second, players[0], memory[0], tables)
    if first != NONE:
        _meet(players[0], memory[0], first, first_code, players[1], memory[1], tables)
    if second != NONE:
        _meet(players[1], memory[1], second, second_code, players[0], memory[0], tables)


@rule
def _fly(m, s, tables):
    for i in range(MAX_LASERS):
        if m.laser_life[i] <= 0.0:
            continue
        own = tables.hits[m.laser_hit[i]].own
        if own > 0:
            own_flight(m, i, s, tables, own)
        m.laser_x[i] += m.laser_speed_x[i]
        m.laser_y[i] += m.laser_speed_y[i]
        m.laser_life[i] -= 1.0
        x, y = m.laser_x[i], m.laser_y[i]
        above = y > s.blast_top and own != THUNDER  # which comes from there
        outside = x < s.blast_left or x > s.blast_right or y < s.blast_bottom or above
        if outside or inside_body(s, x, y):
            m.laser_life[i] = 0.0
        if m.laser_life[i] <= 0.0:
            m.lasers -= 1


@rule
def _find(m, victim, memory, tables):
    """The first of a player's lasers that touches the other, or NONE."""
    if m.lasers == 0 or is_held(victim):
        return NONE
    for i in range(MAX_LASERS):
        if m.laser_life[i] > 0.0 and _touches(m, i, victim, memory, tables):
            return i
    return NONE


@rule
def _touches(m, i, victim, memory, tables):
    """Whether a laser meets the shield or the body anywhere on this frame's way."""
    own = tables.hits[m.laser_hit[i]].own
    if _is_far(m, i, victim, tables) or (own > 0 and passes_by(m, i, victim, own)):
        return False
    if _meets_shield(m, i, victim, memory, tables) or _meets_mirror(m, i, victim, memory, tables):
        return True
    x, y = _tail(m, i, tables)
    to_x, to_y = _tip(m, i, tables)
    radius = tables.hits[m.laser_hit[i]].radius
    return not victim.invulnerable and touches_body(victim, memory, tables, x, y, to_x, to_y, radius)


@rule
def _is_far(m, i, victim, tables):
    """Whether no circle of a laser can reach the victim on this frame; spares most of the geometry."""
    hit = tables.hits[m.laser_hit[i]]
    reach = FARTHEST_PART + hit.radius + hit.tail
    gap_x = abs(m.laser_x[i] - victim.x) - abs(m.laser_speed_x[i])
    gap_y = abs(m.laser_y[i] - victim.y) - abs(m.laser_speed_y[i])
    return gap_x > reach or gap_y > reach


@rule
def _meets_shield(m, i, victim, memory, tables):
    if not is_shielding(victim):
        return False
    x, y = _tail(m, i, tables)
    to_x, to_y = _tip(m, i, tables)
    return touches_shield(victim, memory, tables, x, y, to_x, to_y, tables.hits[m.laser_hit[i]].radius)


@rule
def _meets_mirror(m, i, victim, memory, tables):
    """Whether a laser meets the circle of a special move that sends it back."""
    if _stays(m, i, tables) or not is_special(victim, tables.characters[memory.character_row]):
        return False
    row = special_row(victim, memory, tables)
    if not row.reflects:
        return False
    if row.mirror_radius == 0.0:
        return own_mirror(m, i, victim, tables, row.own)
    x, y = _tail(m, i, tables)
    to_x, to_y = _tip(m, i, tables)
    reach = tables.hits[m.laser_hit[i]].radius + row.mirror_radius
    return from_point(victim.x, victim.y + row.mirror_y, x, y, to_x, to_y) <= reach * reach


@rule
def _stays(m, i, tables):
    """Whether nothing sends a shot back: Thunder has no rule for that (doldecomp/melee, itpikachuthunder.c)."""
    return tables.hits[m.laser_hit[i]].own == THUNDER


@rule
def _tip(m, i, tables):
    """Where the first circle of a laser is."""
    hit = tables.hits[m.laser_hit[i]]
    behind = hit.tip * _growth(m, i, hit, hit.life - m.laser_life[i])
    return _behind(m, i, m.laser_x[i], m.laser_y[i], behind)


@rule
def _tail(m, i, tables):
    """Where its last circle was on the frame before; on its first frame where it is."""
    hit = tables.hits[m.laser_hit[i]]
    age = hit.life - m.laser_life[i]
    if age <= 1.0:
        return _behind(m, i, m.laser_x[i], m.laser_y[i], hit.tail * _growth(m, i, hit, age))
    x, y = m.laser_x[i] - m.laser_speed_x[i], m.laser_y[i] - m.laser_speed_y[i]
    return _behind(m, i, x, y, hit.tail * _growth(m, i, hit, age - 1.0))


@rule
def _growth(m, i, hit, age):
    """Share of its full length that a laser has ``age`` frames after it was fired."""
    if hit.grows == 0.0:
        return 1.0
    return min(age * norm(m.laser_speed_x[i], m.laser_speed_y[i]) / hit.grows, 1.0)


@rule
def _behind(m, i, x, y, distance):
    """The place ``distance`` units behind (x, y) on the way of a laser."""
    share = distance / norm(m.laser_speed_x[i], m.laser_speed_y[i])
    return x - share * m.laser_speed_x[i], y - share * m.laser_speed_y[i]


@rule
def _meets(m, i, victim, memory, tables):
    """Whether a touching laser hits, is blocked or is reflected."""
    if i == NONE:
        return BODY
    if _meets_mirror(m, i, victim, memory, tables):
        return REFLECTOR
    if not _meets_shield(m, i, victim, memory, tables):
        return BODY
    reflects = victim.action == a.GUARD_REFLECT and memory.age < REFLECT_FRAMES and not _stays(m, i, tables)
    return REFLECTOR if reflects else SHIELD


@rule
def _meet(p, m, i, code, victim, memory, tables):
    row = m.laser_hit[i]
    hit = tables.hits[row]
    if code == REFLECTOR:
        special = victim.action >= a.FIRST_SPECIAL
        if special and own_reflection(m, i, tables, special_row(victim, memory, tables).own):
            return
        _send_back(m, i, memory)
        if special:
            show_reflection(victim, memory, tables, -sign(m.laser_speed_x[i]))
    power, side = m.laser_power[i], sign(m.laser_speed_x[i])
    if hit.own == THUNDER:
        side = thunder.side(m, i, victim)
        thunder.spend(m, i)
    else:
        m.laser_life[i] = 0.0
        m.lasers -= 1
    if code == REFLECTOR:
        return
    move = move_of(tables.characters[m.character_row], m.laser_action[i])
    damage = hit.damage * power * stale_share(m, move, 0)
    if code == SHIELD:
        victim.hitlag = float(hitlag(damage))
        hit_shield(victim, memory, damage, hit.shield_damage, side)
    elif hit.kb_growth == 0.0 and hit.kb_base == 0.0:
        note_damage(m, victim, memory, damage)
    else:
        victim.hitlag = victim_hitlag(victim, damage, hit.electric)
        if hit.own > 0 and own_hit(p, m, victim, memory, tables, row, damage):
            note_damage(m, victim, memory, damage)
            return
        part = part_at(victim, memory, tables, m.laser_y[i])
        hurt(m, victim, memory, tables, row, side, damage, power, part)


@rule
def _send_back(m, i, memory):
    for k in range(MAX_LASERS):
        if memory.laser_life[k] <= 0.0:
            memory.lasers += 1
            memory.laser_life[k] = m.laser_life[i]
            memory.laser_hit[k] = m.laser_hit[i]
            memory.laser_action[k] = m.laser_action[i]
            memory.laser_power[k] = m.laser_power[i] * REFLECTED_POWER
            memory.laser_x[k] = m.laser_x[i]
            memory.laser_y[k] = m.laser_y[i]
            memory.laser_speed_x[k] = -m.laser_speed_x[i]
            memory.laser_speed_y[k] = -m.laser_speed_y[i]
            return
