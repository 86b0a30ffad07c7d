"""Landings: whether the mock, started up to 30 frames before, comes down on the same frame.

A window counts from its start to the landing of the game or of the mock, whichever is first, if the mock does the same
actions until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.coverage import NAMES, mechanic_table
from scripts.studies.fidelity.windows import LENGTH, Windows
from selfplay_melee import actions as a

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay
    from selfplay_melee.tables import Tables

SURFACES: Final = ("floor", "platform", "moving platform")
LANDING: Final = np.dtype(
    [
        ("t", "i4"),
        ("seat", "i4"),
        ("character", "i4"),
        ("mechanic", "i4"),  # before it, index into ``coverage.NAMES``
        ("surface", "i4"),  # index into SURFACES
        ("exact", "f8"),  # share of its windows in which the mock lands on the same frame
    ]
)
FROM: Final = tuple(NAMES[mechanic_table()[first]] for first in (a.JUMP_F, a.JUMP_AERIAL_F, a.FALL, a.FALL_SPECIAL,
                    a.DAMAGE_FALL, a.NAIR, a.AIR_DODGE, a.PLATFORM_DROP))  # fmt: skip


def landings(
    replay: Replay, memory: NDArray[np.void], played: Windows, covered: NDArray[np.bool_], tables: Tables
) -> NDArray[np.void]:
    """LANDING [K]: those that a window of covered frames, [T], leads up to."""
    found = [row for seat in (0, 1) for row in _of_seat(replay, memory[:, seat], played, covered, tables, seat)]
    return np.array(found, LANDING)


def _of_seat(
    replay: Replay,
    memory: NDArray[np.void],
    played: Windows,
    covered: NDArray[np.bool_],
    tables: Tables,
    seat: int,
) -> list[tuple[float, ...]]:
    p = replay.state.players[:, seat]
    mechanic = mechanic_table()[np.clip(p["action"], 0, a.NUM_ACTIONS - 1)]
    down = np.flatnonzero((p["on_ground"][1:] != 0) & (p["on_ground"][:-1] == 0)) + 1
    gaps = np.flatnonzero(~covered)
    found: list[tuple[float, ...]] = []
    for before, t in zip([0, *down.tolist()], down.tolist(), strict=False):
        last_gap = int(gaps[np.searchsorted(gaps, t, "right") - 1]) if len(gaps) and gaps[0] <= t else -1
        first = max(before, t - LENGTH, last_gap + 1)
        if NAMES[mechanic[t - 1]] in FROM and first < t:
            exact = _exact(played, seat, np.arange(first, min(t, len(played.same))), t)
            if len(exact):
                where = int(mechanic[t - 1]), _surface(memory[t], tables)
                found.append((t, seat, int(p["character"][t]), *where, float(exact.mean())))
    return found


def _exact(played: Windows, seat: int, starts: NDArray[np.int64], t: int) -> NDArray[np.bool_]:
    """Whether the mock lands on frame ``t``, of the windows from ``starts`` in which it does the same until then."""
    after = t - starts
    lands = played.lands[starts, seat]
    alike = played.same[starts, seat] >= np.minimum(np.where(lands > 0, lands, LENGTH + 1), after) - 1
    exact: NDArray[np.bool_] = (lands == after)[alike]
    return exact


def _surface(memory: np.void, tables: Tables) -> int:
    surface = int(memory["surface"])
    if surface <= 0:
        return 0
    return 2 if tables.stages[int(memory["stage_row"])]["surface_mover"][surface] >= 0 else 1
