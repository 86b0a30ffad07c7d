"""The two side platforms of Fountain of Dreams, which rise, sink and stay under water by chance.

A platform rests, then stays where it is, goes a step up or down, or sinks under the floor and comes up again later.
Sources: doldecomp/melee, grizumi.c, with the figures of the game's GrIz.dat; heights there times 0.75, plus 1.125, are
units.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.stages.chance import draw

FIRST_LEFT, FIRST_RIGHT = 16.125, 22.125
REST = 19.875  # height to which a platform comes back from under water, and to which its steps tend
HIGHEST, LOWEST = 27.375, 12.375  # that a step leads to
SUNK = 0.375  # target under water
SURFACE = 1.125  # below it a platform does not hold a player
RISE, SINK = 0.1125, 0.075  # units a frame
SHORT_STEP, LONG_STEP = 3.75, 7.5
REST_FRAMES, MORE_REST = 600, 480  # at least, and how many more at most
SUNK_FRAMES, MORE_SUNK = 480, 1200
SINKS, STEPS = 4.0 / 22.0, 12.0 / 22.0  # chances after a rest: to sink; to sink or to go a step
AGAINST_REST = 0.25  # chance that a step leads further away from ``REST``
WAITED = 123  # frames that the platforms have rested before GO


@rule
def start_fountain(game):
    """The heights and rests at the start of a game."""
    game.fountain_left = FIRST_LEFT
    game.fountain_right = FIRST_RIGHT
    for i in range(2):
        game.fountain_moves[i] = 0
        game.fountain_target[i] = game.fountain_right if i else game.fountain_left
        game.fountain_frames[i] = _frames(game, REST_FRAMES, MORE_REST) - WAITED


@rule
def under_water(y):
    """Whether a platform at height y is too low to hold a player."""
    return y < SURFACE


@rule
def move_fountain(game):
    """The next frame of both platforms."""
    game.fountain_left = _next_height(game, 0, game.fountain_left)
    game.fountain_right = _next_height(game, 1, game.fountain_right)


@rule
def _next_height(game, i, y):
    if game.fountain_moves[i]:
        return _approach(game, i, y)
    game.fountain_frames[i] -= 1
    if game.fountain_frames[i] < 0:
        _choose(game, i, y)
    return y


@rule
def _approach(game, i, y):
    distance = game.fountain_target[i] - y
    if distance >= RISE:
        return y + RISE
    if distance <= -SINK:
        return y - SINK
    game.fountain_moves[i] = 0
    if under_water(game.fountain_target[i]):
        game.fountain_frames[i] = _frames(game, SUNK_FRAMES, MORE_SUNK)
    else:
        game.fountain_frames[i] = _frames(game, REST_FRAMES, MORE_REST)
    return game.fountain_target[i]


@rule
def _choose(game, i, y):
    """What follows a rest."""
    chance = draw(game)
    if under_water(y):
        game.fountain_target[i] = REST
    elif chance < SINKS:
        game.fountain_target[i] = SUNK
    elif chance < STEPS:
        step = SHORT_STEP + (LONG_STEP - SHORT_STEP) * draw(game)
        game.fountain_target[i] = min(max(y + step * _direction(game, y), LOWEST), HIGHEST)
    else:
        game.fountain_frames[i] = _frames(game, REST_FRAMES, MORE_REST)
        return
    game.fountain_moves[i] = 1


@rule
def _direction(game, y):
    """+1 up or -1 down, most often towards ``REST``."""
    up = 0.5
    if y < REST:
        up = 1.0 - AGAINST_REST
    elif y > REST:
        up = AGAINST_REST
    return 1.0 if draw(game) < up else -1.0


@rule
def _frames(game, least, more):
    return least + int(more * draw(game))
