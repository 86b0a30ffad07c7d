"""Blocks of games from outside, for tests."""

from dataclasses import replace

from selfplay.games.registry import make_game


class DoubledKuhn:
    """Kuhn poker with twice the rewards."""

    def __init__(self, num_games):
        self._game = make_game("kuhn", num_games=num_games)

    def __getattr__(self, name):
        return getattr(self._game, name)

    def step(self, actions, acts=None):
        batch = self._game.step(actions, acts)
        return replace(batch, reward=2 * batch.reward)


class NoRandom(DoubledKuhn):
    bot_names = ("always_bet",)


def failing(num_games):
    raise ValueError(f"no {num_games}")
