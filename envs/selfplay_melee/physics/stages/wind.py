"""The wind of Dream Land's tree: it moves everybody on one side of the tree by a fixed distance a frame.

Sources: doldecomp/melee, groldpupupu.c (sides, length), with the figures of the game's GrOp.dat as published in
kyhavlov/melee-sim-light. In replays it moves players by 0.2 units on 274 frames in a row, 779 to 1,229 frames apart.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.stages.chance import draw
from selfplay_melee.tables.layout import WIND

SPEED = 0.2  # units a frame
FRAMES = 274
CALM_FRAMES, MORE_CALM = 760, 480  # at least, and how many more at most, as measured from replays
TREE = -17.5  # x
# Where it blows, x and y: to the left of the tree, and to the right.
LEFT_FROM, LEFT_TO = -74.0, -18.0
RIGHT_FROM, RIGHT_TO = -17.0, 76.0
BOTTOM, TOP = -10.0, 40.0


@rule
def start_wind(game, s):
    """No wind yet."""
    game.wind = 0
    game.wind_frames = CALM_FRAMES + int(MORE_CALM * draw(game)) if s.movement == WIND else 0


@rule
def blow(game, players, memory):
    """The next frame of the wind."""
    if game.wind_frames > 0:
        game.wind_frames -= 1
        if game.wind_frames == 0:
            _change(game, players)
    for seat in range(2):
        memory[seat].wind = SPEED * game.wind


@rule
def _change(game, players):
    chance = draw(game)
    if game.wind != 0:
        game.wind = 0
        game.wind_frames = CALM_FRAMES + int(MORE_CALM * chance)
        return
    side = _side(players[0]) + _side(players[1])
    game.wind = (1 if chance < 0.5 else -1) if side == 0 else (1 if side > 0 else -1)
    game.wind_frames = FRAMES


@rule
def _side(p):
    """Side of the tree that a player is on, -1 or +1."""
    return 1 if p.x >= TREE else -1


@rule
def wind_at(m, x, y):
    """Units along x by which the wind moves a player at (x, y)."""
    if m.wind == 0.0 or not BOTTOM < y < TOP:
        return 0.0
    inside = LEFT_FROM < x < LEFT_TO if m.wind < 0.0 else RIGHT_FROM < x < RIGHT_TO
    return m.wind if inside else 0.0
