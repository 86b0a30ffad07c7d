"""What hit circles touch: the capsules of a body and the shield.

A circle covers its way from the frame before, as in the game; on its first frame it stands still.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.actions.shield import is_shielding, shield_place, shield_size
from selfplay_melee.physics.moves.calls import own_place
from selfplay_melee.tables.layout import CHAIN, HULL_FRAMES


@rule
def centre(p, m, tables, row):
    """Centre of a hit circle on this frame."""
    hit = tables.hits[row]
    if hit.own == CHAIN:
        return own_place(p, m, tables, row, 0)
    point = hit.first_point + int(p.action_frame) - hit.start
    return p.x + p.facing * tables.points[point, 0], p.y + tables.points[point, 1]


@rule
def centre_before(p, m, tables, row):
    """Centre of a hit circle on the frame before, or on its first frame."""
    hit = tables.hits[row]
    frame = int(p.action_frame)
    if frame <= hit.start:
        return centre(p, m, tables, row)
    if hit.own == CHAIN:
        return own_place(p, m, tables, row, 1)
    point = hit.first_point + frame - 1 - hit.start
    return m.before_x + p.facing * tables.points[point, 0], m.before_y + tables.points[point, 1]


@rule
def hit_touches_body(p, m, victim, memory, tables, row):
    """Whether a hit circle touches the victim's body on this frame."""
    x, y = centre(p, m, tables, row)
    from_x, from_y = centre_before(p, m, tables, row)
    return touches_body(victim, memory, tables, from_x, from_y, x, y, tables.hits[row].radius)


@rule
def hit_touches_shield(p, m, victim, memory, tables, row):
    """Whether a hit circle touches the victim's shield on this frame."""
    if not is_shielding(victim):
        return False
    x, y = centre(p, m, tables, row)
    from_x, from_y = centre_before(p, m, tables, row)
    return touches_shield(victim, memory, tables, from_x, from_y, x, y, tables.hits[row].radius)


@rule
def touches_shield(victim, memory, tables, from_x, from_y, to_x, to_y, radius):
    """Whether a circle that moves between two places touches the victim's shield."""
    if not is_shielding(victim):
        return False
    c = tables.characters[memory.character_row]
    x, y = shield_place(victim, memory, c)
    reach = radius + shield_size(victim, memory, c)
    return from_point(x, y, from_x, from_y, to_x, to_y) <= reach * reach


@rule
def touches_body(victim, memory, tables, from_x, from_y, to_x, to_y, radius):
    """Whether a circle that moves between two places touches the victim's body in its pose."""
    row = memory.character_row
    frame = min(max(int(victim.action_frame), 0), HULL_FRAMES - 1)
    pose = tables.poses[row, victim.action, frame]
    # Seen from the victim's feet, forward and up, with its height as unit.
    scale = 1.0 / tables.characters[row].hurt_height
    ax = (from_x - victim.x) * victim.facing * scale
    ay = (from_y - victim.y) * scale
    bx = (to_x - victim.x) * victim.facing * scale
    by = (to_y - victim.y) * scale
    r = radius * scale
    bounds = tables.bounds[pose]
    if max(ax, bx) + r < bounds[0] or min(ax, bx) - r > bounds[2]:
        return False
    if max(ay, by) + r < bounds[1] or min(ay, by) - r > bounds[3]:
        return False
    for i in range(tables.capsules.shape[1]):
        part = tables.capsules[pose, i]
        reach = r + part[4]
        if _between(ax, ay, bx, by, part[0], part[1], part[2], part[3]) <= reach * reach:
            return True
    return False


@rule
def from_point(x, y, ax, ay, bx, by):
    """Squared distance of a point from a line segment."""
    dx = bx - ax
    dy = by - ay
    length = dx * dx + dy * dy
    along = 0.0
    if length > 0.0:
        along = min(max(((x - ax) * dx + (y - ay) * dy) / length, 0.0), 1.0)
    gap_x = x - (ax + along * dx)
    gap_y = y - (ay + along * dy)
    return gap_x * gap_x + gap_y * gap_y


@rule
def _between(ax, ay, bx, by, cx, cy, dx, dy):
    """Squared distance between two line segments, 0 where they cross."""
    if _crosses(ax, ay, bx, by, cx, cy, dx, dy):
        return 0.0
    first = min(from_point(ax, ay, cx, cy, dx, dy), from_point(bx, by, cx, cy, dx, dy))
    second = min(from_point(cx, cy, ax, ay, bx, by), from_point(dx, dy, ax, ay, bx, by))
    return min(first, second)


@rule
def _crosses(ax, ay, bx, by, cx, cy, dx, dy):
    """Whether each segment has the ends of the other on both sides."""
    a_side = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    b_side = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    c_side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    d_side = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    return a_side * b_side < 0.0 and c_side * d_side < 0.0
