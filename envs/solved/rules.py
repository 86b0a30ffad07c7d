"""Interface of a small enumerable game: two seats, and integer actions.

Both seats act in every step. A seat that is not to move has one legal action, to wait, so that turns need no rules of
their own. Chance moves only at the start.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

State = TypeVar("State", bound=Hashable)


class Rules(Protocol[State]):
    """A zero-sum game of two seats. States are hashable values; methods do not modify them."""

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""
        ...

    def starts(self) -> Sequence[State]:
        """Initial states, all equally likely."""
        ...

    def legal(self, state: State, seat: int) -> Sequence[int]:
        """Legal actions of a seat, at least one, in a state that is not terminal."""
        ...

    def after(self, state: State, actions: tuple[int, int]) -> State:
        """Next state after two legal actions."""
        ...

    def payoff(self, state: State) -> float | None:
        """Payoff of seat 0, the negative of seat 1's, in a terminal state; None in any other state."""
        ...

    def observe(self, state: State, seat: int) -> Sequence[float]:
        """Observation of a seat, of the same length in every state, terminal ones included."""
        ...

    def render(self, state: State) -> str:
        """The game as text: before its end what the seat to act may know, then everything."""
        ...
