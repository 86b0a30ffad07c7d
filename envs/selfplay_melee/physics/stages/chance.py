"""What a stage does by chance: numbers of a generator that the game's record holds."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.rng import following, mix, unit


@rule
def start_chance(game):
    """Begin with the numbers of the game's seed."""
    game.chance = mix(game.seed, 1)


@rule
def draw(game):
    """The next number, in [0, 1)."""
    game.chance = following(game.chance)
    return unit(game.chance)
