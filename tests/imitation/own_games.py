"""Games with scripted players to imitate."""

from dataclasses import replace
from types import MappingProxyType

from selfplay.games.registry import find_game
from selfplay.imitation.hook import PLAIN, Rate
from tests.games import games


def perfect(game, seat, rng):
    """Leaves a multiple of four stones, or else takes one."""
    return (game.left - 1) % 4 % 3


class Nim(games.Nim):
    players = MappingProxyType({"perfect": perfect})


class Duel(games.Duel):
    players = MappingProxyType({"steady": lambda game, seat, rng: (game.steps % 3, seat)})
    obs_width = 4

    def observe(self, seat):
        return [*(self.steps == step for step in range(3)), seat]


def rates(found):
    return [Rate("right", "right bets", found.accuracy, 1.0, "a right bet comes")]


KUHN = replace(find_game("kuhn"), imitation=lambda: replace(PLAIN, rates=rates))
"""Kuhn poker with a line of its own in the reports."""
