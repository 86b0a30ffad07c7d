"""Games of OpenSpiel as games of this project: ``scripts.studies.equilibrium.adapter:kuhn_poker``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel

from scripts.studies.equilibrium.names import GAMES
from selfplay.games import Game
from selfplay.games.game import BOTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class SpielGame(Game):
    """A game of two seats that take turns. A seat sees its information state, and which seat it is.

    Args:
        spiel: What OpenSpiel calls it.
    """

    def __init__(self, spiel: str) -> None:
        self._game = pyspiel.load_game(spiel)
        self.num_actions = int(self._game.num_distinct_actions())
        self.obs_width = int(self._game.information_state_tensor_size()) + len(BOTH)
        self.max_steps = int(self._game.max_game_length()) + 1
        self._state = self._game.new_initial_state()

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._state = self._game.new_initial_state()
        self._deal()

    def _deal(self) -> None:
        while self._state.is_chance_node():
            actions, weights = zip(*self._state.chance_outcomes(), strict=True)
            self._state.apply_action(int(self._rng.choice(actions, p=weights)))

    def to_act(self) -> Sequence[int]:
        return (self._state.current_player(),)

    def observe(self, seat: int) -> NDArray[np.float32]:
        row = np.zeros(self.obs_width, np.float32)
        row[seat - len(BOTH)] = 1
        if not self._state.is_terminal():  # many games show nothing then
            row[: -len(BOTH)] = self._state.information_state_tensor(seat)
        return row

    def legal(self, seat: int) -> NDArray[np.bool_]:
        return np.array(self._state.legal_actions_mask(seat), np.bool_)

    def step(self, actions: Sequence[Any]) -> tuple[Sequence[float], bool, bool]:
        self._state.apply_action(int(actions[self._state.current_player()]))
        self._deal()
        done = self._state.is_terminal()
        return (tuple(self._state.returns()) if done else (0.0, 0.0)), done, False

    def render(self) -> str:
        return str(self._state)


def __getattr__(name: str) -> Callable[[], SpielGame]:
    if name not in GAMES:
        raise AttributeError(name)
    return partial(SpielGame, GAMES[name])
