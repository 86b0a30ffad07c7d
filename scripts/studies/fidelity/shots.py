"""Shots on their way: a replay records them as items, the mock keeps them in its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from selfplay_melee.physics.memory import MAX_LASERS
from selfplay_melee.tables.layout import LASER_HIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfplay_melee.replay import Replay
    from selfplay_melee.tables.layout import Tables


def place_shots(replay: Replay, memory: NDArray[np.void], tables: Tables) -> None:
    """Fill the lasers of MEMORY [T, 2] with the items that a seat fired and that are still flying."""
    for seat, player in enumerate(replay.seats):
        hits = _hits_by_item(tables, int(memory["character_row"][-1, seat]))
        flying = (replay.items["timer"] > 0) & ((replay.items["vx"] != 0) | (replay.items["vy"] != 0))
        for item in replay.items[flying & np.isin(replay.items["type"], list(hits))]:
            m = memory[item["t"], seat]
            slot = int(m["lasers"])
            if item["owner"] != player.port or slot == MAX_LASERS:
                continue
            m["lasers"] = slot + 1
            m["laser_hit"][slot], m["laser_action"][slot] = hits[int(item["type"])]
            m["laser_power"][slot] = 1.0
            m["laser_life"][slot] = item["timer"]
            m["laser_x"][slot], m["laser_y"][slot] = item["x"], item["y"]
            m["laser_speed_x"][slot], m["laser_speed_y"][slot] = item["vx"], item["vy"]


def _hits_by_item(tables: Tables, character: int) -> dict[int, tuple[int, int]]:
    """Row of the hit and the action that fires it, by the type of the item."""
    found: dict[int, tuple[int, int]] = {}
    for action, entry in enumerate(tables.actions[character]):
        for row in range(entry["first_hit"], entry["first_hit"] + entry["num_hits"]):
            hit = tables.hits[row]
            if hit["kind"] == LASER_HIT and hit["item_type"] > 0:
                found.setdefault(int(hit["item_type"]), (row, action))
    return found
