"""The bots that do not react to their opponent: random, walker and rusher."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bots.attack import strike
from selfplay_melee.bots.controls import change_level, dash, draw, drift, face, flick_x, jump, perform, walk
from selfplay_melee.bots.perception import AERIALS, distance, flies_free, moves, side_of, stands_free
from selfplay_melee.bots.reflexes import recover, reflexes
from selfplay_melee.physics.actions.death import is_away

POKES = moves(a.JAB_1, a.FTILT, a.DTILT)
ANY_TIME = 60.0


@rule
def play_random(bot, pad):
    """Each button with probability 0.1, sticks and shoulder uniform over their codes."""
    buttons = 0
    for i in range(8):
        if draw(bot) < 0.1:
            buttons |= 1 << i
    pad.buttons = buttons
    pad.main_x = (int(draw(bot) * 17.0) - 8) / 8.0
    pad.main_y = (int(draw(bot) * 17.0) - 8) / 8.0
    pad.c_x = (int(draw(bot) * 17.0) - 8) / 8.0
    pad.c_y = (int(draw(bot) * 17.0) - 8) / 8.0
    pad.shoulder = int(draw(bot) * 5.0) / 4.0


@rule
def play_walker(bot, pad, game, me, other, tables, stage):
    """Walk to the opponent and poke; stop for a while now and then; come back by double jump only."""
    if reflexes(bot, pad, me, other, stage, 0.1) or recover(bot, pad, me, tables, stage, 0.1):
        return
    if game.frame >= bot.until:
        bot.plan = 1 if draw(bot) < 0.7 else 0
        bot.until = game.frame + 20 + int(40.0 * draw(bot))
    side = side_of(me, other)
    if flies_free(me, tables):
        drift(pad, me, tables, stage, side)
    if not stands_free(me, tables) or is_away(other) or bot.plan == 0:
        return
    if change_level(bot, pad, me, other, side):
        return
    if distance(me, other) < 18.0:
        if me.facing != side:
            face(pad, side)
        elif draw(bot) < 0.5:
            strike(bot, pad, me, other, tables, stage, POKES, 10.0, ANY_TIME)
    else:
        walk(pad, me, stage, side)


@rule
def play_rusher(bot, pad, game, me, other, tables, stage):
    """Run at the opponent, into a dash attack or a jump with an aerial attack."""
    if reflexes(bot, pad, me, other, stage, 0.3) or recover(bot, pad, me, tables, stage, 0.3):
        return
    side = side_of(me, other)
    gap = distance(me, other)
    if flies_free(me, tables):
        drift(pad, me, tables, stage, side)
        strike(bot, pad, me, other, tables, stage, AERIALS, 8.0, ANY_TIME)
        return
    if not stands_free(me, tables) or is_away(other):
        return
    if game.frame >= bot.until:
        bot.plan = int(3.0 * draw(bot))
        bot.until = game.frame + 40
    above = other.y - me.y > 15.0 and not other.on_ground
    if change_level(bot, pad, me, other, side):
        return
    if gap < 30.0 and (above or bot.plan == 0):
        jump(bot, pad, side)
    elif gap < 30.0 and (me.action == a.DASH or me.action == a.RUN) and me.facing == side:
        perform(bot, pad, me, a.DASH_ATTACK, side)
    elif gap < 12.0:
        if not strike(bot, pad, me, other, tables, stage, POKES, 8.0, ANY_TIME):
            flick_x(bot, pad, side)
    else:
        dash(bot, pad, me, stage, side)
