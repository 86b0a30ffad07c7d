"""When Pokémon Stadium has another shape than the mock's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import actions as a
from selfplay_melee.tables import STAGES

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

# Pokémon Stadium before it changes: the numbers of floor and platforms in a file. Events 1 to 3 announce a change, at 4
# floors begin to move, 0 is its end; between two shapes there is always the normal one.
STADIUM_FLOORS, STADIUM_PLATFORMS, STADIUM_PLATFORM_Y = (34, 51, 52, 53, 54), (35, 36), 25.0
CHANGED, CHANGES, NORMAL = 0, 4, 5
CHANGE_BEFORE, CHANGE_AFTER = 303, 605  # frames from event 4, and from the announcement, to the end of a change


def transformed(replay: Replay) -> NDArray[np.bool_]:
    """[T] frames on which Pokémon Stadium has, or may have, another shape than the mock's."""
    result = np.zeros(len(replay.state.players), bool)
    if replay.stage != STAGES["pokemon_stadium"]:
        return result
    if "stadium" not in replay.absent:
        event, kind = replay.stadium.T
        announced = (event > CHANGED) & (event < CHANGES) & (kind != NORMAL)
        return np.asarray((event >= 0) & ~announced & ~((event == CHANGED) & (kind == NORMAL)))
    for t in np.flatnonzero(_strange_floors(replay).any(1)):
        result[max(t - CHANGE_BEFORE, 0) : t + CHANGE_AFTER] = True
    return result


def _strange_floors(replay: Replay) -> NDArray[np.bool_]:
    """[T, 2] players who stand on a floor that Stadium has only during and after a change."""
    if "post.ground" in replay.absent:
        return np.zeros(replay.state.players.shape, bool)
    p, floor = replay.state.players, replay.post["ground"]
    sinks = np.isin(floor, STADIUM_PLATFORMS) & (np.abs(p["y"] - STADIUM_PLATFORM_Y) > 0.1)
    strange = ~np.isin(floor, (*STADIUM_FLOORS, *STADIUM_PLATFORMS))
    return np.asarray((p["on_ground"] == 1) & (p["action"] > a.REBIRTH_WAIT) & (strange | sinks))
