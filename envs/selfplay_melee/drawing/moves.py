"""Figure and hit circles of a character on a frame of an action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.actions import CATEGORIES, CATEGORY_OF
from selfplay_melee.drawing.figure import figure_of
from selfplay_melee.drawing.looks import look_of
from selfplay_melee.drawing.poses import ATTACKS, Timing, pose_at
from selfplay_melee.tables import load_tables
from selfplay_melee.tables.layout import ATTACK_HIT, GRAB_HIT

Floats = NDArray[np.float32]


class Move(NamedTuple):
    """One frame of an action of a character, by Melee's numbers."""

    character: int
    action: int
    frame: int

    @property
    def category(self) -> str:
        """Group of the action; actions without a table are special moves."""
        return CATEGORIES[CATEGORY_OF[self.action]] if self.action < len(CATEGORY_OF) else "special"


def figure(move: Move) -> Floats:
    """Joints [J, 2], see ``figure.figure_of``."""
    timing = timing_of(move) if move.category in ATTACKS else None
    return figure_of(look_of(move.character), pose_at(move.category, move.frame, timing))


def circles(move: Move) -> Floats:
    """Hit circles of this frame [n, 3]: forward and up from the feet, radius."""
    tables = load_tables()
    found = [
        (*tables.points[int(hit["first_point"]) + move.frame - int(hit["start"])], hit["radius"])
        for hit in _hits(move)
        if hit["start"] <= move.frame <= hit["end"]
    ]
    return np.array(found, np.float32).reshape(-1, 3)


def _hits(move: Move) -> list[np.void]:
    """Attack and grab circles of the whole action; none without a table."""
    tables = load_tables()
    known = 0 <= move.character < len(tables.character_rows) and move.action < tables.actions.shape[1]
    row = int(tables.character_rows[move.character]) if known else -1
    if row < 0:
        return []
    action = tables.actions[row, move.action]
    first, count = int(action["first_hit"]), int(action["num_hits"])
    return [hit for hit in tables.hits[first : first + count] if hit["kind"] in (ATTACK_HIT, GRAB_HIT)]


def timing_of(move: Move) -> Timing | None:
    """When the attack hits; None without a table or a hit."""
    hits = _hits(move)
    if not hits:
        return None
    tables = load_tables()
    action = tables.actions[int(tables.character_rows[move.character]), move.action]
    first, last = (f(int(hit[end]) for hit in hits) for f, end in ((min, "start"), (max, "end")))
    return Timing(first, last, max(int(action["iasa"]) or int(action["frames"]), last + 4))
