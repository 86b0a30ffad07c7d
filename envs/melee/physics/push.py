"""Two players who stand in each other's way push each other apart."""

from __future__ import annotations

from envs.melee import actions as a
from envs.melee.physics.compile import rule
from envs.melee.physics.grab import is_held, is_holding
from envs.melee.physics.motion import sign

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
    _push(p, memory[0], s, -side if side != 0.0 else -p.facing)
    _push(other, memory[1], s, side if side != 0.0 else -other.facing)


@rule
def _takes_room(p):
    rolling = a.ROLL_F <= p.action <= a.ROLL_B or a.TECH_F <= p.action <= a.TECH_B
    return p.on_ground and p.hitlag <= 0.0 and not rolling and not is_held(p) and not is_holding(p)


@rule
def _push(p, m, s, side):
    p.x = min(max(p.x + PUSH * side, s.surface_left[m.surface]), s.surface_right[m.surface])
