"""Exact answers about a game that is written down whole: what the best reply to a player wins.

A player here is a mixture of K strategies, one of which is drawn before each game and kept to its end. Who replies
knows the mixture and remembers all that it saw, but not which strategy was drawn: it learns of that what the play
gives away. Letters in shapes: N states, M actions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from selfplay.games.solved.table import Table

Floats = NDArray[np.float64]
Belief = dict[int, Floats]
"""States that a seat cannot tell apart, each with the chance [K] that it is reached, its own actions taken as given,
and the other seat plays strategy k."""


def nash_conv(table: Table, strategies: Floats, weights: Floats) -> float:
    """NashConv: what the best replies gain over the player itself, summed over both seats; 0 in an equilibrium.

    In a zero-sum game the players' own values cancel, so it is the sum of the values of the best replies.

    Args:
        table: The game.
        strategies: [K, N, 2, M] probability of each action in each state, for each seat.
        weights: [K] of the strategies in the mixture, summing to one.
    """
    return sum(_Reply(table, seat, strategies[:, :, 1 - seat], weights).value() for seat in range(2))


def payoffs(table: Table, strategies: Floats) -> Floats:
    """[K, K] what strategy k in seat 0 wins of strategy l in seat 1, on average."""
    reach = _reach(table, strategies)
    return np.asarray(np.tensordot(table.payoff[table.over].astype(float), reach[table.over], 1))


def mean_length(table: Table, strategy: Floats) -> float:
    """Steps of an episode on average, where both seats play a strategy, [N, 2, M]."""
    return float(_reach(table, strategy[None])[~table.over, 0, 0].sum())


def _reach(table: Table, strategies: Floats) -> Floats:
    """[N, K, K] probability of each state, where strategy k has seat 0 and strategy l seat 1."""
    count = len(strategies)
    reach = np.zeros((len(table.over), count, count))
    reach[: table.starts] = 1.0 / table.starts
    for state in np.flatnonzero(~table.over).tolist():  # a state comes before what follows on it
        for mine, other in np.argwhere(table.after[state] >= 0).tolist():
            chance = strategies[:, state, 0, mine, None] * strategies[None, :, state, 1, other]
            reach[table.after[state, mine, other]] += reach[state] * chance
    return reach


@final
class _Reply:
    """The best reply of ``seat`` to what the other seat plays, [K, N, M], in a mixture."""

    def __init__(self, table: Table, seat: int, others: Floats, weights: Floats) -> None:
        self._table = table
        self._others = others
        self._weights = weights
        self._sign = 1.0 if seat == 0 else -1.0
        self._legal = [[np.flatnonzero(row).tolist() for row in table.legal[:, s]] for s in (seat, 1 - seat)]
        self._after = (table.after if seat == 0 else table.after.swapaxes(1, 2)).tolist()
        self._seen = [row.tobytes() for row in np.ascontiguousarray(table.obs[:, seat])]

    def value(self) -> float:
        starts = range(self._table.starts)
        return self._sum(self._told_apart((state, self._weights / len(starts)) for state in starts))

    def _told_apart(self, reached: Iterable[tuple[int, Floats]]) -> Iterable[Belief]:
        """States by what the seat sees in them."""
        beliefs: dict[bytes, Belief] = {}
        for state, chance in reached:
            belief = beliefs.setdefault(self._seen[state], {})
            belief[state] = belief.get(state, 0.0) + chance
        return beliefs.values()

    def _sum(self, beliefs: Iterable[Belief]) -> float:
        return sum(max(self._of(belief, action) for action in self._legal[0][next(iter(belief))]) for belief in beliefs)

    def _of(self, belief: Belief, action: int) -> float:
        """Expected payoff of an action, followed by the best actions."""
        won, going_on = 0.0, []
        for state, chance in belief.items():
            for other in self._legal[1][state]:
                reached = self._after[state][action][other]
                chance_of_it = chance * self._others[:, state, other]
                if self._table.over[reached]:
                    won += self._sign * float(self._table.payoff[reached]) * float(chance_of_it.sum())
                else:
                    going_on.append((reached, chance_of_it))
        return won + self._sum(self._told_apart(going_on))
