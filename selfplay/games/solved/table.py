"""A small game of two seats written down whole: every state that its rules can reach, as arrays.

The block of games reads these arrays. Exact answers come from a ``GameTree``, which also has what was seen before.
Letters in shapes: N states, M actions, D observation features; P = 2 seats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from selfplay.games.api import F32, ActionSpec, Bool
from selfplay.games.errors import ContractError, GameError

State = TypeVar("State", bound=Hashable)


@runtime_checkable
class Rules(Protocol[State]):
    """A zero-sum game of two seats. States are hashable values; methods do not modify them.

    Both seats act in every step. A seat that is not to move has one legal action, to wait, so that turns need no rules
    of their own. Chance moves only at the start.
    """

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""

    def starts(self) -> Sequence[State]:
        """Initial states, all equally likely."""

    def legal(self, state: State, seat: int) -> Sequence[int]:
        """Legal actions of a seat, at least one, in a state that is not terminal."""

    def after(self, state: State, actions: tuple[int, int]) -> State:
        """Next state after two legal actions."""

    def payoff(self, state: State) -> float | None:
        """Payoff of seat 0, the negative of seat 1's, in a terminal state; None in any other state."""

    def observe(self, state: State, seat: int) -> Sequence[float]:
        """Observation of a seat, of the same length in every state, terminal ones included."""

    def render(self, state: State) -> str:
        """The game as text: before its end what the seat to act may know, then everything."""


Player = Callable[[Any, int], Sequence[float]]
"""A scripted player: (state, seat) -> probability of each action. An action that is not legal has none."""
MOST_CELLS: Final = 20_000_000  # of ``Table.after``
NOWHERE: Final = -1  # stands in ``Table.after`` where the pair of actions is not legal, or the game is over


@dataclass(frozen=True, slots=True)
class Table:
    """States are numbered so that what follows on a state has a higher number."""

    actions: tuple[str, ...]
    starts: int  # states 0..starts-1 are those in which the game may begin, all alike likely
    obs: F32  # [N, P, D]
    legal: Bool  # [N, P, M] in states that are over: all
    after: NDArray[np.int64]  # [N, M, M] the state that the actions of seat 0 and seat 1 lead to
    over: Bool  # [N]
    payoff: F32  # [N] to seat 0, where the game is over
    players: Mapping[str, NDArray[np.float64]]  # scripted ones: probability of each action in each state, [N, P, M]

    @property
    def masked(self) -> bool:
        """True if some action is illegal in some state."""
        return not bool(self.legal.all())


def uniform(rules: Rules[State]) -> Player:
    def play(state: State, seat: int) -> Sequence[float]:
        legal = _legal(rules, state, seat)
        return [float(action in legal) / len(legal) for action in range(len(rules.actions))]

    return play


def always(rules: Rules[State], *actions: str) -> Player:
    """Plays the first of these actions that is legal, else the first legal one."""
    wanted = [rules.actions.index(action) for action in actions]

    def play(state: State, seat: int) -> Sequence[float]:
        legal = _legal(rules, state, seat)
        chosen = next((action for action in wanted if action in legal), legal[0])
        return [float(action == chosen) for action in range(len(rules.actions))]

    return play


def _legal(rules: Rules[State], state: State, seat: int) -> Sequence[int]:
    return rules.legal(state, seat) if rules.payoff(state) is None else range(len(rules.actions))


def action_spec(actions: tuple[str, ...]) -> ActionSpec:
    """One categorical, no class of which a fresh policy shall prefer."""
    return ActionSpec(binary=0, sizes=(len(actions),), rest=(-1,))


def _check_size(states: int, actions: int) -> None:
    if states * actions**2 > MOST_CELLS:
        raise GameError(
            f"these rules have more than {states - 1:,} states with {actions} actions, too many for a table; write the "
            "game as a subclass of selfplay.games.Game"
        )


def enumerate_states(rules: Rules[State], players: Mapping[str, Player] = MappingProxyType({})) -> Table:
    """Everything that the rules can reach from their starts, with scripted ``players``.

    Raises:
        ContractError: a state can be reached in more than one number of steps; one of them should be part of it.
        GameError: there are too many states for a table.
    """
    starts = list(rules.starts())
    number: dict[Any, int] = {state: n for n, state in enumerate(starts)}
    states, following = list(starts), dict[tuple[int, int, int], int]()
    for n, state in enumerate(states):  # grows meanwhile
        if rules.payoff(state) is not None:
            continue
        for pair in product(rules.legal(state, 0), rules.legal(state, 1)):
            reached = rules.after(state, pair)
            if reached not in number:
                number[reached] = len(states)
                states.append(reached)
                _check_size(len(states), len(rules.actions))
            following[n, *pair] = number[reached]
    size, moves = len(states), len(rules.actions)
    if any(reached <= n for (n, _, _), reached in following.items()):
        raise ContractError("a state of these rules follows on itself or on a later one; count steps in the state")
    after = np.full((size, moves, moves), NOWHERE, np.int64)
    for place, reached_number in following.items():
        after[place] = reached_number
    payoffs = [rules.payoff(state) for state in states]
    over = np.array([payoff is not None for payoff in payoffs])
    possible = after != NOWHERE
    strategies = {
        name: np.array([[player(state, seat) for seat in range(2)] for state in states])
        for name, player in players.items()
    }
    return Table(
        actions=rules.actions,
        starts=len(starts),
        obs=np.array([[rules.observe(state, seat) for seat in range(2)] for state in states], np.float32),
        legal=np.stack([possible.any(2), possible.any(1)], 1) | over[:, None, None],
        after=after,
        over=over,
        payoff=np.array([payoff or 0.0 for payoff in payoffs], np.float32),
        players=strategies,
    )
