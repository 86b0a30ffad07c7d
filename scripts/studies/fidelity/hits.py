"""Clean hits of a replay, and the values that the mock computes for them.

A clean hit is one hit from one attacker on a victim that was not in hitlag, hitstun or behind a shield, with no second
hit before the end of the victim's hitlag. The damage taken tells which circle of the move connected; how often the
mock's own geometry finds the same one is counted separately.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule
from envs.melee import actions as a
from envs.melee.physics.hit import ELECTRIC_HITLAG, NO_HIT, damage_of, find_hit, knockback_on
from envs.melee.physics.knockback import LAUNCH_SPEED, hitlag, hitstun
from envs.melee.physics.memory import MEMORY
from envs.melee.state import NUM_SEATS, PLAYER, as_records, records
from envs.melee.tables import load_tables
from envs.melee.tables.layout import ATTACK_HIT
from scripts.studies.fidelity.coverage import COVERED, reasons

if TYPE_CHECKING:
    from envs.melee.replay import Replay

HIT: Final = np.dtype(
    [
        ("t", "i4"),  # frame of the replay, counted from its first
        ("attacker", "i4"),  # seat
        ("action", "i4"),  # of the attacker
        ("known", "i4"),  # 1 where the tables have a hit of that move on that frame
        ("found", "i4"),  # 1 where the mock's own search finds the same circle
        *((f"{who}_{name}", "f8") for name in ("damage", "knockback", "hitlag", "hitstun") for who in ("real", "mock")),
    ]
)
_SHIELDING: Final = (a.GUARD_ON, a.GUARD_REFLECT)


def clean_hits(replay: Replay, memory: NDArray[np.void]) -> NDArray[np.void]:
    """HIT [K]: the clean hits of covered moves; ``memory`` is what ``reconstruct_memory`` gives."""
    found = [hit for victim in range(NUM_SEATS) for hit in _clean(replay, victim)]
    hits = np.zeros(len(found), HIT)
    for i, (t, victim) in enumerate(sorted(found)):
        hits[i]["t"], hits[i]["attacker"] = t, 1 - victim
        hits[i]["action"] = replay.state.players[t, 1 - victim]["action"]
        _real(replay, t, victim, hits[i])
    players = as_records(replay.state.players)
    _predict(as_records(hits), players, memory, records(PLAYER, 2), records(MEMORY, 2), load_tables())
    return hits


def _clean(replay: Replay, victim: int) -> list[tuple[int, int]]:
    p, q = replay.state.players[:, victim], replay.state.players[:, 1 - victim]
    covered = reasons(replay) == COVERED
    hurt = np.flatnonzero(p["percent"][1:] > p["percent"][:-1]) + 1
    found = []
    for t in hurt:
        before = p[t - 1]
        attack = a.JAB_1 <= q["action"][t] <= a.DAIR
        lag = int(p["hitlag"][t]) if p["hitlag"][t] > 0 else 0
        quiet = before["hitlag"] <= 0 and before["hitstun"] <= 0
        open_ = not _SHIELDING[0] <= before["action"] <= _SHIELDING[1]
        free = not a.CAPTURE_PULLED_HIGH <= before["action"] <= a.CAPTURE_DAMAGE
        whole = t + lag + 1 < len(p) and not replay.rolled_back[t - 1 : t + lag + 2].any()
        if not (attack and lag and q["hitlag"][t] > 0 and quiet and open_ and free and whole and covered[t - 1]):
            continue
        if (p["percent"][t + 1 : t + lag + 1] == p["percent"][t]).all():
            found.append((int(t), victim))
    return found


def _real(replay: Replay, t: int, victim: int, hit: np.void) -> None:
    p = replay.state.players[:, victim]
    hit["real_damage"] = p["percent"][t] - p["percent"][t - 1]
    hit["real_knockback"] = math.hypot(p["speed_attack_x"][t], p["speed_attack_y"][t]) / LAUNCH_SPEED
    hit["real_hitlag"] = p["hitlag"][t]
    hit["real_hitstun"] = p["hitstun"][t]


@compiled
def _predict(hits, players, memory, mock, remembered, tables):
    for i in range(len(hits)):
        hit = hits[i]
        t, seat = hit.t, hit.attacker
        mock[0] = players[t, seat]
        mock[1] = players[t, 1 - seat]
        remembered[0] = memory[t, seat]
        remembered[1] = memory[t - 1, 1 - seat]
        for j in range(len(remembered[0].stale)):  # as it was before the hit itself went in
            remembered[0].stale[j] = memory[t - 1, seat].stale[j]
        mock[0].hitlag = 0.0
        remembered[0].hit_groups = 0
        mock[1].hitlag = 0.0
        mock[1].invulnerable = 0
        before = players[t - 1, 1 - seat]
        mock[1].action = before.action
        mock[1].action_frame = before.action_frame
        mock[1].on_ground = before.on_ground
        mock[1].percent = before.percent
        row = _circle(mock[0], remembered[0], tables, hit.real_damage)
        if row == NO_HIT:
            continue
        hit.known = 1
        hit.found = 1 if row == find_hit(mock[0], remembered[0], mock[1], remembered[1], tables) else 0
        damage = damage_of(mock[0], remembered[0], tables, row)
        hit.mock_damage = damage
        percent = math.floor(before.percent) + damage
        hit.mock_knockback = knockback_on(remembered[0], mock[1], remembered[1], tables, row, percent)
        lag = hitlag(damage)
        hit.mock_hitlag = math.floor(lag * ELECTRIC_HITLAG) if tables.hits[row].electric else lag
        hit.mock_hitstun = hitstun(hit.mock_knockback)


@rule
def _circle(p, m, tables, damage):
    """The active circle of the move whose damage is nearest to that of the hit."""
    best = NO_HIT
    entry = tables.actions[m.character_row, p.action]
    frame = int(p.action_frame)
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        hit = tables.hits[row]
        if not hit.start <= frame <= hit.end or hit.kind != ATTACK_HIT:
            continue
        gap = abs(damage_of(p, m, tables, row) - damage)
        if best == NO_HIT or gap < abs(damage_of(p, m, tables, best) - damage):
            best = row
    return best
