"""Contacts: which attacks connect, in the game and in the mock, from the same frame.

On every covered frame on which the tables have an active attack or grab, the mock's own search looks for a contact
between the real players. A player that was hit or grabbed on that frame is shown by the file as the hit left it, so
its pose comes from the mock: one frame on from the frame before, with hits switched off.

A contact is found if the mock has one on the same frame. A contact of the mock that the game does not have counts once
for each use of an attack and each group of its hits: it is early if the game has one later in that use, else invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.pose import before_hits, empty_pose
from scripts.studies.fidelity.reconstruct import replay_arrays
from selfplay.compilation.compile import compiled, rule
from selfplay_melee import actions as a
from selfplay_melee.physics.hits.hit import NO_HIT, find_hit
from selfplay_melee.state import NUM_SEATS, records
from selfplay_melee.tables.layout import GRAB_HIT

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay
    from selfplay_melee.tables import Tables

STATES: Final = ("standing", "crouching", "lying", "in the air", "shielding", "other")
_ATTACK, _GRAB = 1, 2

# A contact of the game, of the mock, or of both.
CONTACT: Final = np.dtype(
    [
        ("t", "i4"),
        ("attacker", "i4"),  # seat
        ("attacker_character", "i4"),
        ("action", "i4"),  # of the attacker
        ("use", "i4"),  # number of that use of the action
        ("character", "i4"),  # of the victim
        ("victim_action", "i4"),
        ("state", "i4"),  # index into STATES
        ("grab", "?"),
        ("real", "?"),
        ("found", "?"),
        ("early", "?"),  # invented, but the same use does connect later
    ]
)


class Events(NamedTuple):
    """What the file shows on each frame, for both seats."""

    contact: NDArray[np.int8]  # [T, 2] of this seat's attack: 0, _ATTACK or _GRAB
    touched: NDArray[np.bool_]  # [T, 2] hit or grabbed, or has grabbed: the file shows the pose only after that
    judged: NDArray[np.bool_]  # [T, 2] the frame tells whether this seat's attack connected


class Clashes(NamedTuple):
    """Contacts as the compiled search writes them."""

    number: NDArray[np.int64]  # [1]
    rows: NDArray[np.void]  # CONTACT
    uses: NDArray[np.int64]  # [2] actions that a seat has begun
    invented: NDArray[np.int64]  # [2] bits of the groups of hits that it invented in this one


def contacts(replay: Replay, memory: NDArray[np.void], covered: NDArray[np.bool_], tables: Tables) -> NDArray[np.void]:
    """CONTACT [K] on the frames of ``covered``, [T]; ``memory`` is what ``reconstruct_memory`` gives."""
    seen = events(replay)
    judged = seen.judged & (covered & np.roll(covered, 1))[:, None]
    judged[0] = False
    counters = (np.zeros(NUM_SEATS, np.int64) for _ in range(2))
    found = Clashes(np.zeros(1, np.int64), records(CONTACT, 2 * len(covered)), *counters)
    real = replay_arrays(replay, memory)
    ahead = before_hits(real, np.flatnonzero(seen.touched.any(1) & judged.any(1)), tables)
    _search(real, seen._replace(judged=judged), ahead, empty_pose(NUM_SEATS), tables, found)
    rows: NDArray[np.void] = found.rows[: found.number[0]].view(np.ndarray).view(CONTACT)
    on_ground = replay.state.players["on_ground"][rows["t"] - 1, 1 - rows["attacker"]]
    rows["state"] = state_of(rows["victim_action"], on_ground)
    rows["early"] = _early(rows)
    return rows


def _early(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    last = {(row["attacker"], row["use"]): row["t"] for row in rows if row["real"]}
    return np.array([not row["real"] and row["t"] < last.get((row["attacker"], row["use"]), 0) for row in rows], bool)


def state_of(action: NDArray[np.int32], on_ground: NDArray[np.int32]) -> NDArray[np.int32]:
    """Index into STATES of victims, by their action."""
    conditions = [
        (action >= a.SQUAT) & (action <= a.SQUAT_RISE),
        (action >= a.DOWN_BOUND_UP) & (action <= a.TECH_B),
        (action >= a.GUARD_ON) & (action <= a.GUARD_REFLECT) & (action != a.GUARD_OFF),
        (action >= a.CATCH) & (action < a.ROLL_F),
        on_ground == 0,
    ]
    names = ("crouching", "lying", "shielding", "other", "in the air")
    result: NDArray[np.int32] = np.select(conditions, [STATES.index(name) for name in names], STATES.index("standing"))
    return result


def fresh_hitlag(hitlag: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[T] frames on which hitlag begins or restarts."""
    before = np.roll(hitlag, 1)
    before[0] = 0.0
    fresh: NDArray[np.bool_] = (hitlag > 0.0) & (hitlag > before - 0.5)
    return fresh


def events(replay: Replay) -> Events:
    """Contacts as the file shows them."""
    players = replay.state.players
    before = np.roll(players, 1, axis=0)
    fresh = np.stack([fresh_hitlag(players["hitlag"][:, seat]) for seat in range(NUM_SEATS)], 1)
    hurt = players["percent"] > before["percent"]
    held_before = _is_in(before["action"], a.CAPTURE_PULLED_HIGH, a.CAPTURE_DAMAGE) | _is_in(
        before["action"], a.THROWN_F, a.THROWN_D
    )
    grabbed = _is_in(players["action"], a.CAPTURE_PULLED_HIGH, a.CAPTURE_PULLED) & ~held_before
    blocked = fresh & (players["action"] == a.GUARD_STUN) | fresh & (players["action"] == a.GUARD_REFLECT)
    broken = (players["action"] == a.SHIELD_BREAK_FLY) & (before["action"] != a.SHIELD_BREAK_FLY)
    struck = (hurt | blocked | broken) & ~held_before
    contact = np.zeros(players.shape, np.int8)
    contact[struck[:, ::-1] & (fresh | _sends_ghost(replay))] = _ATTACK
    contact[grabbed[:, ::-1]] = _GRAB
    landed = contact > 0
    touched = landed[:, ::-1] & ~blocked | (contact == _GRAB)
    # Hitlag without a victim: attacks that clank, or that met something else. Hits without an attacker: lasers.
    unclear = fresh & ~landed & ~landed[:, ::-1]
    others = struck & ~landed[:, ::-1]
    frozen = (players["hitlag"] > 0.0) & ~fresh
    judged = ~(unclear | unclear[:, ::-1] | others | others[:, ::-1] | frozen)
    return Events(contact, touched, judged)


def _sends_ghost(replay: Replay) -> NDArray[np.bool_]:
    """[T, 2] players in a special move whose ghost hits for them: only the victim has hitlag then."""
    ghosts = [kind for kind, projectile in coverage.PROJECTILES.items() if projectile.name == "ghost"]
    there = np.zeros(len(replay.state.players), bool)
    there[replay.items["t"][np.isin(replay.items["type"], ghosts)]] = True
    sends: NDArray[np.bool_] = there[:, None] & (replay.state.players["action"] >= a.FIRST_SPECIAL)
    return sends


def _is_in(action: NDArray[np.int32], first: int, last: int) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (action >= first) & (action <= last)
    return inside


@compiled
def _search(real, seen, ahead, pose, tables, found):
    for t in range(1, len(real.players)):
        for seat in range(2):
            p, before = real.players[t, seat], real.players[t - 1, seat]
            if p.action != before.action or p.action_frame < before.action_frame:
                found.invented[seat] = 0
                found.uses[seat] += 1
        if not (seen.judged[t, 0] or seen.judged[t, 1]) or not _may_meet(real, seen, t, tables):
            continue
        for seat in range(2):
            _pose(real, seen, t, seat, ahead, pose)
        for seat in range(2):
            if seen.judged[t, seat]:
                _judge(seen.contact[t, seat], t, seat, pose, tables, found)


@rule
def _may_meet(real, seen, t, tables):
    """Whether an attack of the tables is under way, or connects."""
    for seat in range(2):
        row = real.memory[t, seat].character_row
        if seen.contact[t, seat] or tables.actions[row, real.players[t, seat].action].num_hits > 0:
            return True
    return False


@rule
def _pose(real, seen, t, seat, ahead, pose):
    """A player on frame ``t`` as it was before the hits of that frame."""
    now, before = real.players[t, seat], real.players[t - 1, seat]
    if seen.touched[t, seat]:
        pose.players[seat] = ahead.players[t, seat]
        pose.memory[seat] = ahead.memory[t, seat]
    else:
        pose.players[seat] = now
        pose.memory[seat] = real.memory[t, seat]
    p, m = pose.players[seat], pose.memory[seat]
    if seen.contact[t, 1 - seat] == _ATTACK and seen.contact[t, seat] != _GRAB:
        p.x, p.y = now.x, now.y
    same_use = p.action == before.action and p.action_frame >= before.action_frame
    m.hit_groups = real.memory[t - 1, seat].hit_groups if same_use else 0
    p.shield = before.shield
    p.hitlag = 0.0
    p.invulnerable = 0 if seen.contact[t, 1 - seat] else now.invulnerable


@rule
def _judge(contact, t, seat, pose, tables, found):
    p, victim = pose.players[seat], pose.players[1 - seat]
    row = find_hit(p, pose.memory[seat], victim, pose.memory[1 - seat], tables)
    if contact == 0:
        group = 0 if row == NO_HIT else 1 << tables.hits[row].group
        if row == NO_HIT or found.invented[seat] & group:
            return
        found.invented[seat] |= group
    entry = found.rows[found.number[0]]
    found.number[0] += 1
    entry.t, entry.attacker, entry.attacker_character = t, seat, p.character
    entry.action, entry.use = p.action, found.uses[seat]
    entry.character, entry.victim_action = victim.character, victim.action
    entry.grab = contact == _GRAB or (contact == 0 and tables.hits[row].kind == GRAB_HIT)
    entry.real, entry.found = contact != 0, row != NO_HIT
