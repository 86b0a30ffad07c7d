"""Collision with the stage: floors, platforms, the solid body, edges, ledges and blast zones.

A player is a point (the bottom of its hull) that moves in short steps, so that no speed carries it through anything. A
floor only stops movement from above, so a player under the stage never appears on top of it. It holds a player whose
way crosses it between its edges, at the edge if the way ends beyond. The place of a surface is that of the tables plus
its offset: see ``platforms``.
"""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee.physics.motion import sign

LONGEST_STEP = 4.0  # units that a player moves before collisions are looked at again
EDGE_SLACK = 0.1  # units beyond an edge at which a surface still holds (doldecomp/melee mplib.c, and replays)
TOUCH = 1e-4  # units from a surface at which a way down meets it
DEEPEST, BESIDE = 10.0, 4.0  # units under the floor, and from a wall, where a player may be by a wrong hull
FLAT = 2  # points of a floor without slopes


@rule
def surface_height(m, s, i, x):
    """Height of surface ``i`` at ``x``; beyond its edges that of the edge."""
    if i == 0:
        return s.surface_y[0] if s.num_floor == FLAT else _floor_height(s, x)
    mover = s.surface_mover[i]
    return s.surface_y[i] if mover < 0 else s.surface_y[i] + m.platform_y[mover]


@rule
def surface_left(m, s, i):
    """Left end of surface ``i``, x."""
    mover = s.surface_mover[i]
    return s.surface_left[i] if mover < 0 else s.surface_left[i] + m.platform_x[mover]


@rule
def surface_right(m, s, i):
    """Right end of surface ``i``, x."""
    mover = s.surface_mover[i]
    return s.surface_right[i] if mover < 0 else s.surface_right[i] + m.platform_x[mover]


@rule
def _floor_height(s, x):
    if x <= s.floor_x[0]:
        return s.floor_y[0]
    for k in range(1, s.num_floor):
        if x <= s.floor_x[k]:
            part = (x - s.floor_x[k - 1]) / (s.floor_x[k] - s.floor_x[k - 1])
            return s.floor_y[k - 1] + (s.floor_y[k] - s.floor_y[k - 1]) * part
    return s.floor_y[s.num_floor - 1]


@rule
def over_floor(s, x, y):
    """Height y, raised to a sloped floor that is over it."""
    if s.num_floor == FLAT or x < s.surface_left[0] or x > s.surface_right[0] or y < s.ledge_y:
        return y
    return max(y, _floor_height(s, x))


@rule
def is_sloped(m, s):
    """Whether the player stands on a floor with slopes."""
    return m.surface == 0 and s.num_floor != FLAT


@rule
def slope_at(s, x):
    """Rise of a sloped floor for each unit to the right."""
    k = 1
    while k < s.num_floor - 1 and x > s.floor_x[k]:
        k += 1
    return (s.floor_y[k] - s.floor_y[k - 1]) / (s.floor_x[k] - s.floor_x[k - 1])


@rule
def along_slope(s, x, distance):
    """Place after ``distance`` along a sloped floor; as in the game, only the slope at the start counts."""
    for k in range(1, s.num_floor):
        if x <= s.floor_x[k]:
            run = s.floor_x[k] - s.floor_x[k - 1]
            rise = s.floor_y[k] - s.floor_y[k - 1]
            return x + distance * run / math.sqrt(run * run + rise * rise)
    return x + distance


@rule
def surface_under(m, s, x, y0, y1):
    """Index of the highest surface that a fall from y0 to y1 at x crosses, -1 none."""
    return _crossed(m, s, x, y0, x, y1, -1)


@rule
def half_width(s, y):
    """Half of the width of the solid body at height y, -1 above and below it."""
    if y < s.outline_y[0]:
        for i in range(1, s.num_outline):
            low = s.outline_y[i]
            if y > low:
                high = s.outline_y[i - 1]
                part = (high - y) / (high - low)
                return s.outline_x[i - 1] + (s.outline_x[i] - s.outline_x[i - 1]) * part
    return -1.0


@rule
def bottom(s):
    """Height of the underside of the body."""
    return s.outline_y[s.num_outline - 1]


@rule
def fly(p, m, s, dx, dy, hull):
    """Move through the air by (dx, dy); the surface landed on, or -1.

    What meets the stage is the bottom of the player's hull: ``hull`` units over the feet now, ``m.hull`` a frame ago.
    Walls stop the move but not the speed, as replays show; the underside stops both. A player well inside the body,
    which only another hull than the mock's explains, lands.
    """
    steps = int(max(abs(dx), abs(dy)) / LONGEST_STEP) + 1
    step_x = dx / steps
    step_y = (dy + hull - m.hull) / steps
    p.y += m.hull
    m.hull = hull
    floor = surface_height(m, s, 0, p.x)
    if floor - DEEPEST < p.y < floor - EDGE_SLACK and abs(p.x) < half_width(s, p.y) - BESIDE:
        p.y = floor
        m.hull = 0.0
        return 0
    for _ in range(steps):
        x = p.x + step_x
        y = p.y + step_y
        landed = _crossed(m, s, p.x, p.y, x, y, m.drop_from)
        if landed >= 0:
            p.x = min(max(x, surface_left(m, s, landed)), surface_right(m, s, landed))
            p.y = surface_height(m, s, landed, p.x)
            m.hull = 0.0
            return landed
        wall = _wall(s, p.y, y)
        under = s.num_floor == FLAT or y < _floor_height(s, x) or p.y < _floor_height(s, p.x)
        if abs(x) < wall and under:
            if p.y <= bottom(s):  # from below
                y = bottom(s)
                step_y = 0.0
                p.speed_y = min(p.speed_y, 0.0)
                p.speed_attack_y = min(p.speed_attack_y, 0.0)
            else:
                x = sign(p.x) * wall
                step_x = 0.0
        p.x = x
        p.y = y
    p.y -= hull
    return -1


@rule
def _wall(s, y0, y1):
    """Least distance from the middle for a move from y0 to y1: the body, or the rim on the way up."""
    top = s.outline_y[0]
    if y0 < top <= y1:
        return s.outline_x[0]
    return half_width(s, y1)


@rule
def _crossed(m, s, x0, y0, x1, y1, ignored):
    """The highest surface that the way from (x0, y0) down to (x1, y1) meets, -1 none."""
    if y1 >= y0 and s.num_floor == FLAT and s.num_movers == 0:
        return -1
    best = -1
    best_y = 0.0
    for i in range(s.num_surfaces):
        if i == ignored or (i > 0 and m.falls_through):
            continue
        y = surface_height(m, s, i, x1)
        meets = (
            _meets_slope(s, x0, y0, x1, y1) if i == 0 and s.num_floor != FLAT else _meets(m, s, i, y, x0, y0, x1, y1)
        )
        if meets and (best < 0 or y > best_y):
            best = i
            best_y = y
    return best


@rule
def _meets(m, s, i, y, x0, y0, x1, y1):
    """Whether the way down meets the flat surface ``i`` at height y: where it crosses it, not where it ends, counts."""
    mover = s.surface_mover[i]
    if mover >= 0:
        y0 += m.platform_rise[mover]  # a platform that moves takes along where the way began
    if y0 < y - TOUCH or y1 > y + TOUCH or y1 >= y0:
        return False
    x = x0 + (x1 - x0) * min(max((y0 - y) / (y0 - y1), 0.0), 1.0)
    return surface_left(m, s, i) - EDGE_SLACK <= x <= surface_right(m, s, i) + EDGE_SLACK


@rule
def _meets_slope(s, x0, y0, x1, y1):
    over = y0 - _floor_height(s, x0)
    under = y1 - _floor_height(s, x1)
    if over < 0.0 or under >= 0.0:
        return False
    return s.surface_left[0] <= x0 + (x1 - x0) * over / (over - under) <= s.surface_right[0]


@rule
def on_platform(m):
    """Whether the player stands on a platform that can be dropped through."""
    return m.surface > 0


@rule
def past_edge(m, s, x):
    """-1 or +1 if x lies beyond that edge of the surface stood on, else 0."""
    if x < surface_left(m, s, m.surface) - EDGE_SLACK:
        return -1.0
    return 1.0 if x > surface_right(m, s, m.surface) + EDGE_SLACK else 0.0


@rule
def blast_zone(p, s):
    """0 inside the blast zones, else 1 below, 2 left, 3 right, 4 above."""
    if p.y < s.blast_bottom:
        return 1
    if p.x < s.blast_left:
        return 2
    if p.x > s.blast_right:
        return 3
    return 4 if p.y > s.blast_top else 0


@rule
def inside_body(s, x, y):
    """Strictly inside the solid body (which no player ever is)."""
    if s.num_floor != FLAT:
        if y >= _floor_height(s, x) - 1e-6:
            return False
        if y >= s.outline_y[0]:  # between the ends of a floor and its higher middle
            return abs(x) < s.outline_x[0]
    return abs(x) < half_width(s, y) - 1e-6
