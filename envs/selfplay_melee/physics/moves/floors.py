"""Floors that a shot meets."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.stages.stage import FLAT, slope_at, surface_height, surface_left, surface_right

NO_FLOOR = -1


@rule
def floor_between(m, s, x0, y0, x1, y1):
    """The highest surface that the way from (x0, y0) down to (x1, y1) crosses, or NO_FLOOR."""
    best = NO_FLOOR
    best_y = 0.0
    for i in range(s.num_surfaces):
        if not surface_left(m, s, i) <= x1 <= surface_right(m, s, i):
            continue
        y = surface_height(m, s, i, x1)
        if surface_height(m, s, i, x0) <= y0 and y1 < y and (best == NO_FLOOR or y > best_y):
            best = i
            best_y = y
    return best


@rule
def slope_of(s, floor, x):
    """Rise of a surface for each unit to the right."""
    return slope_at(s, x) if floor == 0 and s.num_floor != FLAT else 0.0
