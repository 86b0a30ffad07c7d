"""Movement without a purpose against the opponent: dash-dances and wavedashes, as people fill idle moments."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bots.controls import EDGE_MARGIN, draw, room, tap
from selfplay_melee.controller import BUTTON_L, BUTTON_X
from selfplay_melee.rng import mix, unit

DASH_FRAMES = 8  # frames of each dash of a dash-dance
STANDS = 0.25  # share of idle moments without movement
WAVEDASHES = 0.1  # and with wavedashes; dash-dances fill the others
WAVEDASH_ROOM = 35.0  # units that a wavedash may slide
SHALLOW = (0.875, -0.375)  # stick of an air dodge that starts at the floor,
STEEP = (0.75, -0.625)  # and of one that starts over it
LOW = 2.5  # units over the floor


@rule
def idle_footwork(bot, pad, me, frame, stage, moment):
    """Move about for an idle moment, whose number chooses the kind of movement."""
    kind = unit(mix(bot.seed + 1, moment))
    if kind < STANDS:
        return
    side = 1.0 if unit(mix(bot.seed + 2, moment)) < 0.5 else -1.0
    if kind < STANDS + WAVEDASHES:
        start_wavedash(bot, pad, me, stage, side)
    else:
        _dash_dance(pad, me, stage, side if frame // DASH_FRAMES % 2 else -side)


@rule
def _dash_dance(pad, me, stage, side):
    if room(me, stage, side) > EDGE_MARGIN:
        pad.main_x = side
    elif room(me, stage, -side) > EDGE_MARGIN:
        pad.main_x = -side


@rule
def start_wavedash(bot, pad, me, stage, side):
    """Jump for a wavedash to a side, or to the other one where that side has no room."""
    if me.action == a.JUMP_SQUAT:
        return
    if room(me, stage, side) < WAVEDASH_ROOM:
        side = -side
    if room(me, stage, side) >= WAVEDASH_ROOM and draw(bot) < 0.5:
        tap(bot, pad, BUTTON_X)
        bot.wavedash = side


@rule
def finish_wavedash(bot, pad, me, stage):
    """The air dodge of a wavedash that has begun; False if there is none to finish."""
    if bot.wavedash == 0.0:
        return False
    if me.action == a.JUMP_SQUAT:
        return True
    side = bot.wavedash
    bot.wavedash = 0.0
    if not a.JUMP_F <= me.action <= a.JUMP_B:
        return False
    x, y = SHALLOW if me.y - stage.surface_y[0] < LOW else STEEP
    pad.main_x = x * side
    pad.main_y = y
    tap(bot, pad, BUTTON_L)
    return True
