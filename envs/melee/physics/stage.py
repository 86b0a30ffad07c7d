"""Collision with the stage: floors, platforms, the solid body, edges, ledges and blast zones.

A player is a point (the feet) that moves in short steps, so that no speed carries it through anything. A floor
holds only who crosses it from above, so a player under the stage never appears on top of it.
"""

from __future__ import annotations

from envs.melee.physics.compile import rule
from envs.melee.physics.motion import sign

LONGEST_STEP = 4.0  # units that a player moves before collisions are looked at again


@rule
def surface_under(s, x, y0, y1, ignored):
    """Index of the highest surface that a fall from y0 to y1 at x crosses, -1 none."""
    best = -1
    for i in range(s.num_surfaces):
        if i == ignored:
            continue
        y = s.surface_y[i]
        crosses = y0 >= y > y1 and s.surface_left[i] <= x <= s.surface_right[i]
        if crosses and (best < 0 or y > s.surface_y[best]):
            best = i
    return best


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
def fly(p, m, s, dx, dy):
    """Move through the air by (dx, dy); the surface landed on, or -1.

    Walls and the underside stop the speed against them.
    """
    steps = int(max(abs(dx), abs(dy)) / LONGEST_STEP) + 1
    step_x = dx / steps
    step_y = dy / steps
    ignored = m.drop_from if m.platform_lock > 0.0 else -1
    for _ in range(steps):
        x = p.x + step_x
        y = p.y + step_y
        landed = _crossed(s, p.x, p.y, x, y, ignored)
        if landed >= 0:
            p.x = min(max(x, s.surface_left[landed]), s.surface_right[landed])
            p.y = s.surface_y[landed]
            return landed
        wall = _wall(s, p.y, y)
        if abs(x) < wall:
            if p.y <= bottom(s):  # from below
                y = bottom(s)
                step_y = 0.0
                p.speed_y = min(p.speed_y, 0.0)
                p.speed_attack_y = min(p.speed_attack_y, 0.0)
            else:
                x = sign(p.x) * wall
                step_x = 0.0
                p.speed_air_x = 0.0
                p.speed_attack_x = 0.0
        p.x = x
        p.y = y
    return -1


@rule
def _wall(s, y0, y1):
    """How far from the middle a player who moves from y0 to y1 must stay: the body, or the rim on the way up."""
    top = s.outline_y[0]
    if y0 < top <= y1:
        return s.outline_x[0]
    return half_width(s, y1)


@rule
def _crossed(s, x0, y0, x1, y1, ignored):
    """The surface crossed from (x0, y0) to (x1, y1), where the path meets it or at its end."""
    if y1 >= y0:
        return -1
    landed = surface_under(s, x1, y0, y1, ignored)
    if landed >= 0:
        return landed
    for i in range(s.num_surfaces):
        y = s.surface_y[i]
        if i != ignored and y0 >= y > y1:
            x = x0 + (x1 - x0) * ((y0 - y) / (y0 - y1))
            if s.surface_left[i] <= x <= s.surface_right[i]:
                return i
    return -1


@rule
def on_platform(m):
    """Standing on something that can be dropped through."""
    return m.surface > 0


@rule
def past_edge(m, s, x):
    """-1 or +1 if x lies beyond that edge of the surface stood on, else 0."""
    if x < s.surface_left[m.surface]:
        return -1.0
    return 1.0 if x > s.surface_right[m.surface] else 0.0


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
    return abs(x) < half_width(s, y) - 1e-6
