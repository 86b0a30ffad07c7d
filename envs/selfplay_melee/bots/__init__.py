"""Scripted players: seeded, compiled, usable as opponents and as rating anchors (see ``docs/melee/bots.md``).

A bot decides every few frames, as a policy does, and holds its controller in between. It sees the whole state of the
game and has a memory with a random generator. It reacts to events with a human delay.
"""

from __future__ import annotations

from typing import Final

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bot_names import FRAME_SKIP, LADDER, NAMES, VERSION
from selfplay_melee.bots.controls import BOT, C_HELD, release
from selfplay_melee.bots.footwork import finish_wavedash, idle_footwork
from selfplay_melee.bots.perception import stands_free
from selfplay_melee.bots.planned import play_all_rounder, play_counter_hitter, play_edge_guarder, play_shield_grabber
from selfplay_melee.bots.simple import play_random, play_rusher, play_walker
from selfplay_melee.rng import mix, unit

__all__ = ["BOT", "FRAME_SKIP", "LADDER", "NAMES", "VERSION", "decide", "start_bot"]

IDLE, RANDOM, WALKER, RUSHER, SHIELD_GRABBER, COUNTER_HITTER, EDGE_GUARDER, ALL_ROUNDER = range(8)

# Probability that a bot on the ground moves about idly for LAPSE_FRAMES frames, by kind.
LAPSES: Final = (0.0, 0.0, 0.0, 0.825, 0.52, 0.5, 0.58, 0.0)
LAPSE_FRAMES: Final = 40


@rule
def start_bot(bot, kind, seed):
    """Reset the memory; the same seed gives the same play."""
    bot.kind = kind
    bot.seed = mix(seed, kind + 1) | 1
    bot.rng = bot.seed
    bot.plan = 0
    bot.until = 0
    bot.held = 0
    bot.stick = 0.0
    bot.wavedash = 0.0


@rule
def decide(bot, game, me, other, tables, controller):
    """Write the bot's controller, in world coordinates."""
    stage = tables.stages[tables.stage_rows[game.stage]]
    release(controller)
    moment = game.frame // LAPSE_FRAMES
    if finish_wavedash(bot, controller, me, stage):
        pass
    elif me.on_ground and unit(mix(bot.seed, moment)) < LAPSES[bot.kind]:
        if stands_free(me, tables) or me.action == a.TURN:
            idle_footwork(bot, controller, me, game.frame, stage, moment)
    elif bot.kind == RANDOM:
        play_random(bot, controller)
    elif bot.kind == WALKER:
        play_walker(bot, controller, game, me, other, tables, stage)
    elif bot.kind == RUSHER:
        play_rusher(bot, controller, game, me, other, tables, stage)
    elif bot.kind == SHIELD_GRABBER:
        play_shield_grabber(bot, controller, game, me, other, tables, stage)
    elif bot.kind == COUNTER_HITTER:
        play_counter_hitter(bot, controller, game, me, other, tables, stage)
    elif bot.kind == EDGE_GUARDER:
        play_edge_guarder(bot, controller, game, me, other, tables, stage)
    elif bot.kind == ALL_ROUNDER:
        play_all_rounder(bot, controller, game, me, other, tables, stage)
    c_stick = max(abs(controller.c_x), abs(controller.c_y)) > 0.0
    bot.held = controller.buttons | (C_HELD if c_stick else 0)
    bot.stick = controller.main_x
