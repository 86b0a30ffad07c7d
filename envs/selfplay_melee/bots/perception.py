"""What scripted players derive from the state: which player can act, which attack would connect, and its value."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.hits.knockback import knockback
from selfplay_melee.tables.layout import GRAB_HIT, THROW_HIT

NO_ATTACK = -1
SLIDE_FRAMES = 8.0  # a body on the ground is expected to slide no longer than that
KNOCKBACK_VALUE = 0.12  # percent of damage that a unit of knockback is worth
GRAB_VALUE = 14.0
SHIELDED = 0.15  # what an attack on a shield is worth, as a share
TURNING = 6.0  # frames after which a turn can be broken off
LATE_FRAMES = 3  # hit circles that come out so long after the first are looked at too


def moves(*actions: int) -> int:
    """A set of attacks as bits."""
    return sum(1 << _bit(action) for action in actions)


def _bit(action: int) -> int:
    return 31 if action == a.CATCH else action - a.JAB_1


GROUND_MOVES = moves(a.JAB_1, a.FTILT, a.UTILT, a.DTILT, a.FSMASH, a.USMASH, a.DSMASH)
AERIALS = moves(a.NAIR, a.FAIR, a.BAIR, a.UAIR, a.DAIR)
GRAB = moves(a.CATCH)


@rule
def side_of(me, other):
    """-1 or +1: where the other player is."""
    return 1.0 if other.x >= me.x else -1.0


@rule
def distance(me, other):
    """Units between the two, sideways."""
    return abs(other.x - me.x)


@rule
def stands_free(p, tables):
    """On the ground and able to start anything."""
    if p.on_ground == 0 or p.hitlag > 0.0 or p.hitstun > 0.0:
        return False
    if a.WAIT <= p.action <= a.WALK_FAST or a.DASH <= p.action <= a.RUN or a.SQUAT <= p.action <= a.SQUAT_RISE:
        return True
    if a.DAMAGE_HIGH_1 <= p.action <= a.DAMAGE_AIR_3 or a.TEETER <= p.action <= a.TEETER_WAIT:
        return True
    row = tables.character_rows[p.character]
    if p.action == a.TURN:
        return p.action_frame > TURNING
    if p.action == a.LANDING:
        return p.action_frame >= tables.characters[row].landing_lag
    return a.JAB_1 <= p.action <= a.DSMASH and 0 < tables.actions[row, p.action].iasa <= p.action_frame


@rule
def flies_free(p, tables):
    """In the air and able to start anything."""
    if p.on_ground or p.hitlag > 0.0 or p.hitstun > 0.0:
        return False
    if a.JUMP_F <= p.action <= a.FALL_AERIAL_B or p.action == a.DAMAGE_FALL or p.action == a.PLATFORM_DROP:
        return True
    if a.DAMAGE_HIGH_1 <= p.action <= a.DAMAGE_AIR_3:
        return True
    if not a.NAIR <= p.action <= a.DAIR:  # emulators also have actions above those of the tables
        return False
    return 0 < tables.actions[tables.character_rows[p.character], p.action].iasa <= p.action_frame


@rule
def is_shielding(p):
    return a.GUARD_ON <= p.action <= a.GUARD or p.action == a.GUARD_STUN


@rule
def is_off_stage(p, stage):
    """In the air beside or below the main floor."""
    return p.on_ground == 0 and (abs(p.x) > stage.surface_right[0] or p.y < stage.surface_y[0] - 1.0)


@rule
def is_attacking(p):
    """From the start to the end of an attack or a grab."""
    return a.JAB_1 <= p.action <= a.DAIR or p.action == a.CATCH or p.action == a.CATCH_DASH


@rule
def place_after(p, tables, stage, frames):
    """Predicted (x, y) of a player after some frames without new inputs."""
    if p.on_ground:
        return p.x + (p.speed_ground_x + p.speed_attack_x) * min(frames, SLIDE_FRAMES), p.y
    c = tables.characters[tables.character_rows[p.character]]
    speed_y = max(p.speed_y - 0.5 * c.gravity * frames, -c.fall_speed) + p.speed_attack_y
    x = p.x + (p.speed_air_x + p.speed_attack_x) * frames
    y = p.y + speed_y * frames
    floor = stage.surface_y[0]
    if y < floor <= p.y and abs(x) <= stage.surface_right[0]:
        y = floor
    return x, y


@rule
def effect(p, victim, tables, stage, action, facing, frame):
    """Value of an attack of ``p`` after ``frame`` frames: damage and knockback in percent, 0 for a miss."""
    row = tables.character_rows[p.character]
    entry = tables.actions[row, action]
    c = tables.characters[tables.character_rows[victim.character]]
    best = 0.0
    first = 0
    for i in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[i]
        if hit.end < frame or hit.kind == THROW_HIT:
            continue
        start = max(hit.start, int(frame))
        if first == 0:
            first = start
        if start > first + LATE_FRAMES or (hit.kind == GRAB_HIT and victim.on_ground == 0):
            continue
        ahead = float(start) - frame
        x, y = place_after(p, tables, stage, ahead)
        other_x, other_y = place_after(victim, tables, stage, ahead)
        point = hit.first_point + start - hit.start
        dx = x + facing * tables.points[point, 0] - other_x
        height = y + tables.points[point, 1] - other_y
        dy = height - min(max(height, c.hurt_radius), c.hurt_height - c.hurt_radius)
        reach = hit.radius + c.hurt_radius
        if dx * dx + dy * dy <= reach * reach:
            best = max(best, _worth(victim, c, hit))
    return best


@rule
def _worth(victim, c, hit):
    shielded = is_shielding(victim)
    if hit.kind == GRAB_HIT:
        return GRAB_VALUE * (2.0 if shielded else 1.0)
    value = knockback(victim.percent + hit.damage, hit.damage, c.weight, hit.kb_growth, hit.kb_base, hit.kb_fixed)
    worth = hit.damage + KNOCKBACK_VALUE * value
    return worth * SHIELDED if shielded else worth


@rule
def startup(p, tables, action):
    """Frames before the first hit of an attack."""
    entry = tables.actions[tables.character_rows[p.character], action]
    return float(tables.hits[entry.first_hit].start) if entry.num_hits > 0 else 999.0


@rule
def threatens(p, victim, tables, stage):
    """An attack of ``p`` that is under way would reach ``victim``."""
    if not is_attacking(p) or p.action == a.CATCH or p.action == a.CATCH_DASH:
        return False
    return effect(p, victim, tables, stage, p.action, p.facing, p.action_frame) > 0.0
