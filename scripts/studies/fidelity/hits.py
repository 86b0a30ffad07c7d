"""Clean hits of a replay, and what the mock's rules make of them.

A clean hit is one hit from one attacker on a victim that was not in hitlag, hitstun or behind a shield, with no second
hit before the end of the victim's hitlag: by an attack, a projectile or a throw that the tables know. The damage taken
tells which circle of the move connected; the mock applies that one to the real players. Speeds are compared as the
game records them: a launch into the floor is already turned upwards, and a throw has lost the speed of one frame.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.contacts import fresh_hitlag
from scripts.studies.fidelity.pose import before_hits, empty_pose
from scripts.studies.fidelity.reconstruct import replay_arrays
from selfplay.compilation.compile import compiled, rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.attack import charge_factor
from selfplay_melee.physics.hits.damage import MIDDLE_PART, note_damage, start_throw
from selfplay_melee.physics.hits.hit import NO_HIT, apply_hit, damage_of, find_hit, hurt, victim_hitlag
from selfplay_melee.physics.hits.knockback import DECAY, LAUNCH_SPEED
from selfplay_melee.state import NUM_SEATS, as_records
from selfplay_melee.tables.layout import ATTACK_HIT, LASER_HIT, THROW_HIT

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay
    from selfplay_melee.tables import Tables

OFFSCREEN_DAMAGE: Final = 1.0  # percent that a player beyond the camera takes at a time
FLIGHT: Final = 120  # frames for which a projectile flies at most
KINDS: Final = ("attack", "special", "projectile", "throw")
COMPARED: Final = ("damage", "knockback", "hitlag", "hitstun")
_SPECIAL, _PROJECTILE, _THROW = 1, 2, 3
HIT: Final = np.dtype(
    [
        ("t", "i4"),  # frame of the replay, counted from its first
        ("attacker", "i4"),  # seat
        ("character", "i4"),  # of the attacker
        ("action", "i4"),  # of the attacker; of a projectile, the one that fired it
        ("kind", "i4"),  # index into KINDS
        ("known", "i4"),  # 1 where the tables have such a hit
        ("found", "i4"),  # 1 where the mock's own search finds the same circle
        *((f"{who}_{name}", "f8") for name in COMPARED for who in ("real", "mock")),
    ]
)


def clean_hits(
    replay: Replay, memory: NDArray[np.void], covered: NDArray[np.bool_], tables: Tables
) -> NDArray[np.void]:
    """HIT [K]: the clean hits on the frames of ``covered``, [T]; ``memory`` is what ``reconstruct_memory`` gives."""
    found = sorted(hit for victim in range(NUM_SEATS) for hit in _clean(replay, covered, victim, tables))
    hits = np.zeros(len(found), HIT)
    for i, (t, victim, kind, action) in enumerate(found):
        hits[i]["t"], hits[i]["attacker"], hits[i]["kind"], hits[i]["action"] = t, 1 - victim, kind, action
        hits[i]["character"] = replay.state.players["character"][t, 1 - victim]
        _real(replay, t, victim, hits[i])
    real = replay_arrays(replay, memory)
    _predict(as_records(hits), real, before_hits(real, hits["t"].astype(int), tables), empty_pose(NUM_SEATS), tables)
    return hits


def _clean(replay: Replay, covered: NDArray[np.bool_], victim: int, tables: Tables) -> list[tuple[int, int, int, int]]:
    p, q = replay.state.players[:, victim], replay.state.players[:, 1 - victim]
    firing = np.isin(q["action"], _firing(tables, int(q["character"][0])))
    struck = fresh_hitlag(q["hitlag"])
    near = coverage.near_items(replay)
    found = []
    for t in (np.flatnonzero(p["percent"][1:] > p["percent"][:-1]) + 1).tolist():
        kind, action = _cause(replay, t, victim, bool(struck[t]), firing if near[t - 1] else None)
        before, lag = p[t - 1], max(int(p["hitlag"][t]), 0)
        quiet = before["hitlag"] <= 0 and before["hitstun"] <= 0
        open_ = kind == _THROW or not (_is_shielding(before["action"]) or _is_held(before["action"]))
        alone = t + lag + 1 < len(p) and (p["percent"][t + 1 : t + lag + 1] == p["percent"][t]).all()
        if kind >= 0 and quiet and open_ and alone and covered[t - 1]:
            found.append((t, victim, kind, action))
    return found


def _cause(replay: Replay, t: int, victim: int, struck: bool, firing: NDArray[np.bool_] | None) -> tuple[int, int]:
    """Kind and action of what took percent from a player on frame ``t``; kind -1 if it is not clear.

    ``firing`` has the frames, [T], of actions that fire projectiles, None where none is near.
    """
    p, q = replay.state.players[:, victim], replay.state.players[:, 1 - victim]
    action = int(q["action"][t])
    if a.THROWN_F <= p["action"][t - 1] <= a.THROWN_D:
        launched = a.DAMAGE_HIGH_1 <= p["action"][t] <= a.DAMAGE_FLY_ROLL
        return (_THROW, action) if launched and a.THROW_F <= action <= a.THROW_D else (-1, 0)
    if struck and p["hitlag"][t] > 0:
        if q["percent"][t] > q["percent"][t - 1]:  # a trade: the file shows the attacker as the other's hit left it
            action = int(q["action"][t - 1])
        return (_SPECIAL if action >= a.FIRST_SPECIAL else 0, action)
    if firing is None or struck or p["percent"][t] - p["percent"][t - 1] <= OFFSCREEN_DAMAGE:
        return -1, 0
    fired = np.flatnonzero(firing[max(0, t - FLIGHT) : t])
    return (_PROJECTILE, int(q["action"][max(0, t - FLIGHT) + fired[-1]])) if len(fired) else (-1, 0)


def _firing(tables: Tables, character: int) -> list[int]:
    """Actions of a character that fire projectiles."""
    entries = tables.actions[tables.character_rows[character]]
    flying = tables.hits["kind"] >= LASER_HIT
    return [i for i, e in enumerate(entries) if flying[e["first_hit"] : e["first_hit"] + e["num_hits"]].any()]


def _is_shielding(action: int) -> bool:
    return a.GUARD_ON <= action <= a.GUARD_REFLECT


def _is_held(action: int) -> bool:
    return a.CAPTURE_PULLED_HIGH <= action <= a.CAPTURE_DAMAGE or a.THROWN_F <= action <= a.THROWN_D


def _real(replay: Replay, t: int, victim: int, hit: np.void) -> None:
    p = replay.state.players[:, victim]
    lost = DECAY if hit["kind"] == _THROW else 0.0
    hit["real_damage"] = p["percent"][t] - p["percent"][t - 1]
    hit["real_knockback"] = (math.hypot(p["speed_attack_x"][t], p["speed_attack_y"][t]) + lost) / LAUNCH_SPEED
    hit["real_hitlag"] = max(p["hitlag"][t], 0.0)
    hit["real_hitstun"] = p["hitstun"][t]


@compiled
def _predict(hits, real, ahead, pose, tables):
    for i in range(len(hits)):
        hit = hits[i]
        _before_hit(hit, real, ahead, pose)
        p, m, victim, remembered = pose.players[0], pose.memory[0], pose.players[1], pose.memory[1]
        row = _circle(hit, p, m, tables)
        if row == NO_HIT:
            continue
        hit.known = 1
        if hit.kind <= _SPECIAL:
            hit.found = 1 if row == find_hit(p, m, victim, remembered, tables) else 0
        percent = victim.percent
        _strike(hit, p, m, victim, remembered, tables, row)
        hit.mock_damage = victim.percent - percent
        hit.mock_knockback = math.sqrt(victim.speed_attack_x**2 + victim.speed_attack_y**2) / LAUNCH_SPEED
        hit.mock_hitlag = victim.hitlag
        hit.mock_hitstun = victim.hitstun


@rule
def _before_hit(hit, real, ahead, pose):
    """Attacker and victim as they were before the hit."""
    t, seat = hit.t, hit.attacker
    pose.players[0] = real.players[t, seat]
    pose.memory[0] = real.memory[t, seat]
    pose.players[1] = real.players[t - 1, 1 - seat]
    pose.memory[1] = real.memory[t - 1, 1 - seat]
    if hit.kind != _THROW:
        pose.players[1] = ahead.players[t, 1 - seat]
        pose.memory[1] = ahead.memory[t, 1 - seat]
    if hit.kind <= _SPECIAL and hit.action != real.players[t, seat].action:
        pose.players[0] = ahead.players[t, seat]
        pose.memory[0] = ahead.memory[t, seat]
    p, m, victim = pose.players[0], pose.memory[0], pose.players[1]
    m.hit_groups = 0
    for j in range(len(m.stale)):  # as it was before the hit itself went in
        m.stale[j] = real.memory[t - 1, seat].stale[j]
    if hit.kind == _THROW:
        m.staled = real.memory[t - 1, seat].staled
    if hit.kind == _PROJECTILE:
        p.action = hit.action
    p.hitlag = 0.0
    victim.hitlag = 0.0
    victim.invulnerable = 0
    victim.percent = real.players[t - 1, 1 - seat].percent
    victim.x, victim.y = real.players[t, 1 - seat].x, real.players[t, 1 - seat].y


@rule
def _strike(hit, p, m, victim, remembered, tables, row):
    """Apply the hit as the mock does."""
    damage = damage_of(p, m, tables, row)
    side = 1.0 if victim.x > p.x else -1.0
    if hit.kind == _THROW:
        hurt(m, victim, remembered, tables, row, side, damage, 1.0, MIDDLE_PART)
        start_throw(victim, remembered, hit.action == a.THROW_D, tables.hits[row].angle)
    elif hit.kind == _PROJECTILE:
        if tables.hits[row].kb_growth > 0.0 or tables.hits[row].kb_base > 0.0:
            victim.hitlag = victim_hitlag(victim, damage, tables.hits[row].electric)
            hurt(m, victim, remembered, tables, row, side, damage, 1.0, MIDDLE_PART)
        else:
            note_damage(m, victim, remembered, damage)
    else:
        apply_hit(p, m, victim, remembered, tables, row, False, side, damage, charge_factor(m))


@rule
def _circle(hit, p, m, tables):
    """The hit of the move whose damage is nearest to that of the real hit, of those active on this frame."""
    best = NO_HIT
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        found = tables.hits[row]
        if hit.kind <= _SPECIAL and (found.kind != ATTACK_HIT or not found.start <= frame <= found.end):
            continue
        if (hit.kind == _THROW and found.kind != THROW_HIT) or (hit.kind == _PROJECTILE and found.kind < LASER_HIT):
            continue
        gap = abs(damage_of(p, m, tables, row) - hit.real_damage)
        if best == NO_HIT or gap < abs(damage_of(p, m, tables, best) - hit.real_damage):
            best = row
    return best
