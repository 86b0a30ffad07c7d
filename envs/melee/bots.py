"""Scripted players: seeded, compiled, usable as opponents and as rating anchors.

A bot decides like a policy does, every few frames; its controller is held in between. It may look at the whole state
of the game, and it has a memory of its own with a random generator in it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from envs.melee.physics.compile import compiled
from envs.melee.rng import following, mix, unit

VERSION: Final = 1  # part of every rating's settings: raise it when a bot changes
FRAME_SKIP: Final = 4  # frames between two decisions, in rating games and as a Gymnasium opponent
NAMES: Final = ("idle", "random")
IDLE, RANDOM = range(2)

# What a bot remembers; ``kind`` is -1 while the seat is nobody's.
BOT = np.dtype([("rng", "i8"), ("kind", "i4"), ("plan", "i4"), ("timer", "i4"), ("aux", "i4")], align=True)


@compiled
def start_bot(bot, kind, seed):  # noqa: ANN001, ANN201
    """Forget everything; the same seed gives the same play."""
    bot.kind = kind
    bot.rng = mix(seed, kind + 1) | 1
    bot.plan = 0
    bot.timer = 0
    bot.aux = 0


@compiled
def decide(bot, game, me, other, tables, controller):  # noqa: ANN001, ANN201
    """Write the bot's controller, in the world's coordinates."""
    controller.main_x = 0.0
    controller.main_y = 0.0
    controller.c_x = 0.0
    controller.c_y = 0.0
    controller.shoulder = 0.0
    controller.buttons = 0
    if bot.kind == RANDOM:
        _random(bot, controller)


@compiled
def _random(bot, controller):  # noqa: ANN001, ANN202
    """Each button with probability 0.1, sticks and shoulder uniform over their codes."""
    buttons = 0
    for i in range(8):
        bot.rng = following(bot.rng)
        if unit(bot.rng) < 0.1:
            buttons |= 1 << i
    controller.buttons = buttons
    bot.rng = following(bot.rng)
    controller.main_x = (int(unit(bot.rng) * 17.0) - 8) / 8.0
    bot.rng = following(bot.rng)
    controller.main_y = (int(unit(bot.rng) * 17.0) - 8) / 8.0
    bot.rng = following(bot.rng)
    controller.c_x = (int(unit(bot.rng) * 17.0) - 8) / 8.0
    bot.rng = following(bot.rng)
    controller.c_y = (int(unit(bot.rng) * 17.0) - 8) / 8.0
    bot.rng = following(bot.rng)
    controller.shoulder = int(unit(bot.rng) * 5.0) / 4.0
