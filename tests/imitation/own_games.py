"""Games with scripted players to imitate."""

from types import MappingProxyType

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
