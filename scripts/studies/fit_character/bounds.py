"""What real landings and near misses say about the height of the hull's bottom.

In the air the lowest point of a player's hull lies some units over the feet. A player who has sunk below a floor by d
units without landing has a hull higher than d; one who lands would otherwise have sunk below the floor by more than
the height of the hull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.reconstruct import reconstruct_memory, replay_arrays
from selfplay.compilation.compile import compiled, rule
from selfplay_melee import actions as a
from selfplay_melee.physics.frame import advance_frame
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.physics.movement import falls_through, is_climbing, is_placed
from selfplay_melee.physics.stages.stage import surface_height, surface_left, surface_right
from selfplay_melee.state import GAME, NUM_SEATS, PLAYER, as_records, records
from selfplay_melee.tables import load_tables
from selfplay_melee.tables.layout import HULL_FRAMES, MAX_SURFACES, with_arrays

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

NONE: Final = -1  # action of a hull that is locked at the feet
DEEPEST: Final = 16.0  # units; a larger bound is an error of the search
AT_FEET: Final = 1e-3  # units below a surface at which feet stand on it
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

TRACK: Final = np.dtype(  # one pass over the frames of a seat
    [
        ("action", "i4"),  # whose hull the player has, NONE: locked at the feet
        ("frame", "f8"),
        ("lean", "f8"),
        ("flight", "i4"),
        ("first", "i4"),  # row of the flight's first bound
        ("count", "i4"),  # of all bounds
        ("above", "i4", (MAX_SURFACES,)),  # 1: the feet were above this surface, and nothing let them pass it since
    ],
    align=True,
)


def bounds(replay: Replay) -> NDArray[np.void]:
    """BOUND [K] of both seats."""
    tables = load_tables()
    nowhere = with_arrays(tables, hull=np.full_like(tables.hull, NOWHERE))
    memory = reconstruct_memory(replay)
    out, track = np.zeros(2 * MAX_SURFACES * len(memory), BOUND), records(TRACK, 1)
    mock = records(GAME, 1), records(PLAYER, NUM_SEATS), records(MEMORY, NUM_SEATS)
    _search(replay_arrays(replay, memory), *mock, track, tables, nowhere, as_records(out))
    found = out[: int(track[0]["count"])]
    if "fod_platforms" in replay.absent:  # the heights of the platforms are unknown
        found = found[tables.stages[tables.stage_rows[int(replay.stage)]]["surface_mover"][found["surface"]] < 0]
    return found


@compiled
def _search(real, game, mock, remembered, tracks, tables, nowhere, out):
    s = tables.stages[tables.stage_rows[real.game[0].stage]]
    track = tracks[0]
    for seat in range(2):
        track.action = NONE
        for t in range(1, len(real.players)):
            p, m, before = real.players[t, seat], real.memory[t, seat], real.players[t - 1, seat]
            if before.on_ground or is_placed(before) or is_climbing(before) or _is_down(before) or is_placed(p):
                _start(track, p, m, s)
            elif p.on_ground or _is_down(p):
                _play_on(real, game, mock, remembered, t, seat, nowhere)
                if m.surface >= 0 and not mock[seat].on_ground:
                    _land(track, out, real, mock[seat], remembered[seat], t, seat, s)
            else:
                if m.hull_lock == 0:
                    track.action, track.frame, track.lean = p.action, p.action_frame, _leant(m)
                for i in range(s.num_surfaces):
                    _pass(track, out, real, t, seat, s, i)


@rule
def _start(track, p, m, s):
    """A flight may begin after this frame, from the surfaces below."""
    track.action, track.lean = NONE, 0.0
    track.flight += 1
    track.first = track.count
    for i in range(s.num_surfaces):
        track.above[i] = 1 if p.y >= surface_height(m, s, i, p.x) - AT_FEET else 0


@rule
def _play_on(real, game, mock, remembered, t, seat, nowhere):
    """The mock's frame ``t``, on which a player with a hull that lands nowhere goes on falling."""
    game[0] = real.game[t - 1]
    for i in range(2):
        mock[i], remembered[i] = real.players[t - 1, i], real.memory[t - 1, i]
    remembered[seat].hull, remembered[seat].hull_lock = NOWHERE, 0
    advance_frame(game[0], mock, remembered, real.controllers[t], nowhere)


@rule
def _land(track, out, real, fallen, memory, t, seat, s):
    """A landing on frame ``t``; ``fallen``: where the player would have been without it."""
    p, m, before = real.players[t, seat], real.memory[t, seat], real.players[t - 1, seat]
    y = surface_height(m, s, m.surface, p.x)
    if y > before.y and not track.above[m.surface]:
        _add(track, out, p, t - 1, seat, 0, y - before.y, m.surface)
    jumped = a.JUMP_AERIAL_F <= fallen.action <= a.JUMP_AERIAL_B and fallen.action != before.action
    if real.memory[t - 1, seat].hull_lock <= 1 and not jumped:
        track.action, track.frame, track.lean = fallen.action, fallen.action_frame, _leant(memory)
    _add(track, out, p, t, seat, 1, y - fallen.y, m.surface)
    for row in range(track.first, track.count):
        out[row].landed_from = fallen.action


@rule
def _pass(track, out, real, t, seat, s, i):
    """Surface ``i`` did not stop the player on frame ``t``."""
    p, m, before = real.players[t, seat], real.memory[t, seat], real.players[t - 1, seat]
    y = surface_height(m, s, i, p.x)
    if p.y >= y:
        track.above[i] = 1
    elif p.hitlag > 0.0 or m.drop_from == i or (i > 0 and falls_through(p, m)) or not _is_over(p, before, m, s, i):
        track.above[i] = 0
    elif track.above[i]:
        _add(track, out, p, t, seat, 0, y - p.y, i)


@rule
def _leant(m):
    forward, backward = m.lean_side == 1, m.lean_side > 1
    return m.lean if forward else -m.lean if backward else 0.0


@rule
def _is_over(p, before, m, s, i):
    left, right = surface_left(m, s, i), surface_right(m, s, i)
    return left <= p.x <= right and left <= before.x <= right


@rule
def _is_down(p):
    return p.action == a.DOWN_BOUND_UP or p.action == a.DOWN_BOUND


@rule
def _add(track, out, p, t, seat, landing, height, surface):
    if height > DEEPEST or height < -DEEPEST:
        return
    row = out[track.count]
    row.t, row.seat, row.character, row.landing, row.height = t, seat, p.character, landing, height
    row.action, row.frame = track.action, min(max(int(track.frame), 0), HULL_FRAMES - 1)
    row.lean, row.flight, row.surface, row.landed_from = track.lean, track.flight, surface, NONE
    track.count += 1
