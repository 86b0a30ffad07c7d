"""What real landings and near misses say about the height of the hull's bottom.

In the air the lowest point of a player's hull lies some units over the feet. A player who has sunk below a floor by d
units without landing has a hull higher than d; one who lands would otherwise have sunk below the floor by more than
the height of the hull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule
from envs.melee import actions as a
from envs.melee.physics.act import falls_through, is_climbing, is_placed
from envs.melee.physics.frame import advance_frame
from envs.melee.physics.memory import MEMORY
from envs.melee.physics.stage import surface_height, surface_left, surface_right
from envs.melee.state import GAME, NUM_SEATS, PLAYER, as_records, records
from envs.melee.tables import load_tables
from envs.melee.tables.layout import HULL_FRAMES, MAX_SURFACES
from scripts.studies.fidelity.reconstruct import reconstruct_memory, replay_arrays

if TYPE_CHECKING:
    from envs.melee.replay import Replay

NONE: Final = -1  # action of a hull that is locked at the feet
DEEPEST: Final = 16.0  # units; a larger bound is an error of the search
NOWHERE: Final = 1000.0  # units: a hull so high lands nowhere
BOUND: Final = np.dtype(
    [
        ("t", "i4"),  # frame of the replay, counted from its first
        ("seat", "i4"),
        ("character", "i4"),
        ("action", "i4"),  # whose hull is bounded, NONE: locked at the feet
        ("frame", "i4"),
        ("landing", "i4"),  # 1: the height is below ``height``, 0: at least that
        ("height", "f8"),
        ("lean", "f8"),  # of a fall, see ``physics.change.lean``; above 0 forward
        ("flight", "i4"),  # counts the flights of a file
        ("landed_from", "i4"),  # action in which this flight ends on a surface, NONE if it does not
        ("surface", "i4"),
    ],
    align=True,
)


def bounds(replay: Replay) -> NDArray[np.void]:
    """BOUND [K] of both seats."""
    tables = load_tables()
    nowhere = tables._replace(hull=np.full_like(tables.hull, NOWHERE))
    memory = reconstruct_memory(replay)
    out = np.zeros(2 * MAX_SURFACES * len(memory), BOUND)
    mock = records(GAME, 1), records(PLAYER, NUM_SEATS), records(MEMORY, NUM_SEATS)
    above = np.zeros(MAX_SURFACES, np.int32)
    count = _search(replay_arrays(replay, memory), *mock, above, tables, nowhere, as_records(out))
    found = out[:count]
    if "fod_platforms" in replay.absent:  # nobody knows where the platforms that move are
        found = found[tables.stages[tables.stage_rows[int(replay.stage)]]["surface_mover"][found["surface"]] < 0]
    return found


@compiled
def _search(real, game, mock, remembered, above, tables, nowhere, out):
    s = tables.stages[tables.stage_rows[real.game[0].stage]]
    count = flight = 0
    for seat in range(2):
        action, frame, leant, start = NONE, 0, 0.0, count
        for t in range(1, len(real.players)):
            p, m, before = real.players[t, seat], real.memory[t, seat], real.players[t - 1, seat]
            lands = p.on_ground or (_is_down(p) and not _is_down(before))
            if before.on_ground or is_placed(before) or is_climbing(before) or _is_down(before) or is_placed(p):
                action, leant, flight, start = NONE, 0.0, flight + 1, count
                _place(p, m, s, above)
                continue
            if lands:
                game[0] = real.game[t - 1]
                for i in range(2):
                    mock[i], remembered[i] = real.players[t - 1, i], real.memory[t - 1, i]
                remembered[seat].hull, remembered[seat].hull_lock = NOWHERE, 0
                locked = m_locked(real.memory[t - 1, seat])
                advance_frame(game[0], mock, remembered, real.controllers[t], nowhere)
                jumped = a.JUMP_AERIAL_F <= mock[seat].action <= a.JUMP_AERIAL_B and mock[seat].action_frame == 0.0
                if m.surface >= 0 and not mock[seat].on_ground and not jumped:
                    depth = surface_height(m, s, m.surface, p.x) - before.y
                    if depth > 0.0 and not above[m.surface]:
                        count = _add(out, count, t - 1, seat, p, action, frame, leant, 0, depth, flight, m.surface)
                    if not locked:
                        action, frame, leant = mock[seat].action, mock[seat].action_frame, _leant(remembered[seat])
                    depth = surface_height(m, s, m.surface, p.x) - mock[seat].y
                    count = _add(out, count, t, seat, p, action, frame, leant, 1, depth, flight, m.surface)
                    for row in range(start, count):
                        out[row].landed_from = mock[seat].action
                continue
            if m.hull_lock == 0:
                action, frame, leant = p.action, p.action_frame, _leant(m)
            for i in range(s.num_surfaces):
                y = surface_height(m, s, i, p.x)
                if p.y >= y:
                    above[i] = 1
                elif not above[i]:
                    continue
                elif p.hitlag > 0.0 or m.drop_from == i or (i > 0 and falls_through(p, m)):
                    above[i] = 0
                elif not _is_over(p, before, m, s, i):
                    above[i] = 0
                else:
                    count = _add(out, count, t, seat, p, action, frame, leant, 0, y - p.y, flight, i)
    return count


@rule
def _leant(m):
    return m.lean if m.lean_side == 1 else -m.lean if m.lean_side == 2 else 0.0  # noqa: PLR2004


@rule
def m_locked(m):
    """Whether the hull stays where it is on the next frame."""
    return m.hull_lock > 1


@rule
def _place(p, m, s, above):
    """Note the surfaces that the feet are above."""
    for i in range(s.num_surfaces):
        above[i] = p.y >= surface_height(m, s, i, p.x) - 1e-3


@rule
def _is_over(p, before, m, s, i):
    left, right = surface_left(m, s, i), surface_right(m, s, i)
    return left <= p.x <= right and left <= before.x <= right


@rule
def _is_down(p):
    return p.action == a.DOWN_BOUND_UP or p.action == a.DOWN_BOUND


@rule
def _add(out, count, t, seat, p, action, frame, leant, landing, height, flight, surface):
    if height > DEEPEST or height < -DEEPEST:
        return count
    row = out[count]
    row.t, row.seat, row.character, row.landing, row.height = t, seat, p.character, landing, height
    row.action, row.frame = action, min(max(int(frame), 0), HULL_FRAMES - 1)
    row.lean, row.flight, row.surface, row.landed_from = leant, flight, surface, NONE
    return count + 1
