"""Overlapping players push each other apart."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.physics.down import is_bouncing
from envs.melee.physics.grab import is_held, is_holding
from envs.melee.physics.motion import sign
from envs.melee.physics.stage import surface_height, surface_left, surface_right

PUSH = 0.3  # units a frame, as measured from replays
SAME_HEIGHT = 1.0


@rule
def push_apart(players, memory, s, tables):
    """Move both by ``PUSH`` away from each other, not over an edge."""
    p, other = players[0], players[1]
    if not _takes_room(p) or not _takes_room(other) or abs(p.y - other.y) > SAME_HEIGHT:
        return
    room = tables.characters[memory[0].character_row].push_width + tables.characters[memory[1].character_row].push_width
    gap = other.x - p.x
    if abs(gap) >= room:
        return
    side = sign(gap)
    # Exactly on top of each other, each backs off the way it looks away from.
    if not _slips_past(p):
        _push(p, memory[0], s, -side if side != 0.0 else -p.facing)
    if not _slips_past(other):
        _push(other, memory[1], s, side if side != 0.0 else -other.facing)


@rule
def _takes_room(p):
    bounced = is_bouncing(p.action, p.action_frame - 1.0)  # a frame ago
    return p.on_ground and p.hitlag <= 0.0 and not bounced and not is_held(p) and not is_holding(p)


@rule
def _slips_past(p):
    """Whether the player pushes the other one without being pushed."""
    return a.ROLL_F <= p.action <= a.ROLL_B


@rule
def _push(p, m, s, side):
    p.x = min(max(p.x + PUSH * side, surface_left(m, s, m.surface)), surface_right(m, s, m.surface))
    p.y = surface_height(m, s, m.surface, p.x)
