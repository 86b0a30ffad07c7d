"""How a small game is told: two seats, whole-numbered actions, everything that can happen enumerable.

Both seats act in every step. A seat that is not to move has one legal action, to wait, so that turns need no rules of
their own. Chance speaks once, when the game begins.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

State = TypeVar("State", bound=Hashable)


class Rules(Protocol[State]):
    """A zero-sum game of two seats; a state is whatever value the rules like. Nothing here changes anything."""

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""
        ...

    def starts(self) -> Sequence[State]:
        """States in which the game may begin, all alike likely."""
        ...

    def legal(self, state: State, seat: int) -> Sequence[int]:
        """Actions that a seat has, at least one; of a state in which the game goes on."""
        ...

    def after(self, state: State, actions: tuple[int, int]) -> State:
        """What two legal actions lead to."""
        ...

    def payoff(self, state: State) -> float | None:
        """What seat 0 has won, and seat 1 lost, where the game is over; None where it goes on."""
        ...

    def observe(self, state: State, seat: int) -> Sequence[float]:
        """What a seat sees: as many numbers in every state, those in which the game is over included."""
        ...

    def render(self, state: State) -> str:
        """The game as text: before its end what a seat that is to act may know, then everything."""
        ...
