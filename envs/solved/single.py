"""One game of rules that can be written down whole, for people and for games played one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from envs import game
from envs.splitmix import words

if TYPE_CHECKING:
    from envs.api import Bool
    from envs.solved.rules import Rules
    from envs.solved.table import Player


class SolvedGame(game.Game):
    """A game of ``rules``. A seat with one legal action waits; in a ``TableGame`` it sees the game meanwhile.

    A seed begins the same episode as it does in a ``TableGame``.
    """

    state: Any

    def __init__(self, rules: Rules[Any], players: Mapping[str, Player], version: int) -> None:
        self.rules = rules
        self.num_actions = len(rules.actions)
        self.obs_width = len(rules.observe(rules.starts()[0], 0))
        self.version = version
        self.players = {name: partial(_draw, player) for name, player in players.items()}

    def reset(self, seed: int) -> None:
        starts = self.rules.starts()
        drawn = words(np.array([seed], np.uint64), np.zeros(1, np.uint64))[0]
        self.state = starts[int(drawn) % len(starts)]

    def to_act(self) -> Sequence[int]:
        return [seat for seat in game.BOTH if len(self.rules.legal(self.state, seat)) > 1]

    def observe(self, seat: int) -> Sequence[float]:
        return self.rules.observe(self.state, seat)

    def legal(self, seat: int) -> Bool:
        return np.isin(np.arange(len(self.rules.actions)), self.rules.legal(self.state, seat))

    def step(self, actions: Sequence[game.Action]) -> tuple[Sequence[float], bool, bool]:
        legal = [self.rules.legal(self.state, seat) for seat in game.BOTH]
        first, second = (
            np.asarray(action).item() if len(valid) > 1 else valid[0]  # the action given for a waiting seat is ignored
            for action, valid in zip(actions, legal, strict=True)
        )
        self.state = self.rules.after(self.state, (first, second))
        payoff = self.rules.payoff(self.state)
        won = payoff or 0.0
        return (won, -won), payoff is not None, False

    def render(self) -> str:
        return self.rules.render(self.state)

    def action_name(self, action: int) -> str:
        return self.rules.actions[action]


def _draw(player: Player, game: SolvedGame, seat: int, rng: np.random.Generator) -> int:
    """Draw from the probabilities of the actions of a scripted player."""
    chances = player(game.state, seat)
    return int(rng.choice(len(chances), p=chances))
