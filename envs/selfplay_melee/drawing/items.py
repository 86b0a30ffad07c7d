"""How items are drawn."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.drawing.film import ITEM
from selfplay_melee.slp.record import LASER_ITEMS
from selfplay_melee.tables import load_tables

THING, LASER, DECORATION = range(3)

# Melee's item types. Source: the list of ProjectileType in libmelee, enums.py (vladfi1/libmelee).
_LASERS: Final = (*LASER_ITEMS.values(), 136, 137)  # the last two of Kirby, as Fox and as Falco
_UNSEEN: Final = (74, 75, 62, 63, 85, 96, 97)  # blasters in the hand, smoke; ropes, of which only one end is known
_SHY_GUY: Final = 210

DRAWN: Final = np.dtype([("t", "i4"), ("kind", "u1"), ("x", "f4"), ("y", "f4"), ("way", "f4")])


def drawn_as(items: NDArray[np.void] | None) -> NDArray[np.void]:
    """DRAWN [N] of the visible items (``film.ITEM``); ``way`` is the direction of flight in radians."""
    if items is None:
        return np.zeros(0, DRAWN)
    items = items[~np.isin(items["type"], _UNSEEN)]
    drawn = np.zeros(len(items), DRAWN)
    for field in ("t", "x", "y"):
        drawn[field] = items[field]
    drawn["way"] = np.nan_to_num(np.arctan2(items["vy"], items["vx"]))
    drawn["kind"] = np.select(
        [np.isin(items["type"], _LASERS), items["type"] == _SHY_GUY], [LASER, DECORATION], default=THING
    )
    return drawn


def shots_of(memory: NDArray[np.void]) -> NDArray[np.void]:
    """ITEM [N] of the shots in one game of the mock, from its MEMORY records [2]; t is 0."""
    seats, slots = np.nonzero(memory["laser_life"] > 0)
    items = np.zeros(len(seats), ITEM)
    hits = load_tables().hits[memory["laser_hit"][seats, slots]]
    items["type"] = np.where(hits["tail"] > 0, _LASERS[0], hits["item_type"])  # lasers are long
    for field, name in (("x", "laser_x"), ("y", "laser_y"), ("vx", "laser_speed_x"), ("vy", "laser_speed_y")):
        items[field] = memory[name][seats, slots]
    return items
