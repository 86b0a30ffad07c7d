"""Players who stand on the same surface and overlap push each other apart.

Source: doldecomp/melee, ftcommon.c (the "player nudge"); speed and widths measured from replays, where the rule holds
on every frame: a player is pushed away from another one on the same surface whose half width and the player's own reach
across the distance between them. Lying and frozen players push as others do; a holding or held player takes no part; a
dodging player, or one that climbs a ledge, pushes without being pushed.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.down import is_bouncing
from selfplay_melee.physics.actions.grab import is_held, is_holding
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.moves.headbutt import is_buried

PUSH = 0.3  # units a frame


@rule
def push_apart(players, memory, tables):
    """Move both by ``PUSH`` away from each other; what an edge does to them follows with their own motion."""
    p, other = players[0], players[1]
    memory[0].push = 0.0
    memory[1].push = 0.0
    if not (p.on_ground and other.on_ground) or memory[0].surface != memory[1].surface:
        return
    room = tables.characters[memory[0].character_row].push_width + tables.characters[memory[1].character_row].push_width
    gap = other.x - p.x
    if abs(gap) >= room or not _takes_room(p) or not _takes_room(other):
        return
    side = sign(gap)
    # Exactly on top of each other, each backs off the way it looks away from.
    if _is_pushed(p, memory[0]):
        _push(p, memory[0], -side if side != 0.0 else -p.facing)
    if _is_pushed(other, memory[1]):
        _push(other, memory[1], side if side != 0.0 else -other.facing)


@rule
def _takes_room(p):
    bounced = is_bouncing(p.action, p.action_frame - 1.0)  # a frame ago
    return not bounced and not is_held(p) and not is_holding(p)


@rule
def _is_pushed(p, m):
    """Whether neither hitlag, the ground nor a dodge that began on an earlier frame keeps the player in its place."""
    dodges = a.ROLL_F <= p.action <= a.SPOT_DODGE or a.CLIFF_CLIMB_SLOW <= p.action <= a.CLIFF_ROLL_QUICK
    return m.frozen == 0 and not is_buried(p) and not (dodges and m.age > 0)


@rule
def _push(p, m, side):
    m.push = PUSH * side
    p.x += m.push
