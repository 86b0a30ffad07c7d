"""Games of OpenSpiel that are small enough to enumerate, and the NashConv of policies in them.

Neither torch nor this project is imported: a method may need a Python of its own, with other packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyspiel

from scripts.studies.equilibrium.names import GAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    F64 = NDArray[np.float64]
    Bool = NDArray[np.bool_]

SEATS: Final = 2


class Tree:
    """The information states of a game, in the order of a walk. N information states, A actions, W features.

    Args:
        name: One of ``GAMES``.

    Attributes:
        spiel: What OpenSpiel calls it.
        game: As OpenSpiel loads it.
        states: A state of each information state.
        seats: Who acts, [N].
        tensors: What that seat sees, [N, W].
        legal: Its actions, [N, A].
        nodes: States of the game, also those of chance and of the end.
    """

    def __init__(self, name: str) -> None:
        self.spiel = GAMES[name]
        self.game = pyspiel.load_game(self.spiel)
        self.states: list[Any] = []
        self.nodes = 0
        self._keys: dict[str, int] = {}
        self._walk(self.game.new_initial_state())
        self.seats = np.array([state.current_player() for state in self.states])
        self.tensors = np.array([state.information_state_tensor() for state in self.states], np.float32)
        self.legal = np.array([state.legal_actions_mask() for state in self.states], np.bool_)

    def _walk(self, state: Any) -> None:  # noqa: ANN401
        self.nodes += 1
        if state.is_terminal():
            return
        if not state.is_chance_node():
            self._add(state)
        for action in state.legal_actions():
            self._walk(state.child(action))

    def _add(self, state: Any) -> None:  # noqa: ANN401
        key = state.information_state_string()
        at = self._keys.setdefault(key, len(self.states))
        if at == len(self.states):
            self.states.append(state.clone())
        elif self.states[at].current_player() != state.current_player():
            raise ValueError(f"both seats have the information state {key!r}")

    @property
    def uniform(self) -> F64:
        """The policy that plays every legal action equally often, [N, A]."""
        share: F64 = self.legal / self.legal.sum(axis=1, keepdims=True)
        return share

    def tabulated(self, policy: Callable[[Any], dict[int, float]]) -> F64:
        """Probabilities [N, A] of a policy that maps a state to the probabilities of its legal actions."""
        table = np.zeros(self.legal.shape)
        for row, state in zip(table, self.states, strict=True):
            for action, probability in policy(state).items():
                row[action] = probability
        return table

    def nash_conv(self, probabilities: F64) -> float:
        """Sum over the seats of what a best response gains against these probabilities [N, A], by OpenSpiel.

        Raises:
            ValueError: they do not sum to 1 over the legal actions.
        """
        legal = np.where(self.legal, probabilities, 0.0)
        sums = legal.sum(axis=1, keepdims=True)
        if not np.allclose(sums, 1.0, atol=1e-3):
            raise ValueError(
                f"probabilities of the legal actions sum to {sums.min():.4g} up to {sums.max():.4g}, not 1"
            )
        legal /= sums
        table = {
            key: [(int(a), legal[at, a]) for a in np.flatnonzero(self.legal[at])] for key, at in self._keys.items()
        }
        return float(pyspiel.nash_conv(self.game, pyspiel.TabularPolicy(table)))
