"""Games of one decision: both seats choose at once, and a matrix gives the payoffs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

Choices = tuple[int, int] | None  # None before both have chosen


@final
@dataclass(frozen=True, slots=True)
class Matrix:
    """Seat 0 chooses a row, seat 1 a column, and seat 1 pays seat 0 the entry (``Rules``).

    A seat sees which of the two it is, unless that makes no difference: where the matrix is antisymmetric.
    """

    actions: tuple[str, ...]
    payoffs: tuple[tuple[float, ...], ...]

    def starts(self) -> Sequence[Choices]:
        return (None,)

    def legal(self, state: Choices, seat: int) -> Sequence[int]:
        return range(len(self.actions))

    def after(self, state: Choices, actions: tuple[int, int]) -> Choices:
        return actions

    def payoff(self, state: Choices) -> float | None:
        return None if state is None else self.payoffs[state[0]][state[1]]

    def observe(self, state: Choices, seat: int) -> Sequence[float]:
        return (1.0, 0.0) if self._alike or seat == 0 else (0.0, 1.0)

    def render(self, state: Choices) -> str:
        """Payoff of seat 0 as a table: a row for each of its actions, a column for each of seat 1."""
        rows = [("", *self.actions), *((n, *map(str, row)) for n, row in zip(self.actions, self.payoffs, strict=True))]
        width = max(map(len, self.actions)) + 2
        table = ("".join(cell.rjust(width) for cell in row) for row in rows)
        return "\n".join(["What seat 0 wins, by its action (rows) and that of seat 1 (columns):", *table])

    @property
    def _alike(self) -> bool:
        size = range(len(self.actions))
        return all(self.payoffs[i][j] == -self.payoffs[j][i] for i in size for j in size)


ROCK_PAPER_SCISSORS: Final = Matrix(("rock", "paper", "scissors"), ((0, -1, 2), (1, 0, -1), (-2, 1, 0)))
"""Rock beats scissors for two. The one equilibrium is (1/4, 1/2, 1/4) for both seats; its value is 0."""

MATCHING_PENNIES: Final = Matrix(("heads", "tails"), ((1, -1), (-1, 1)))
"""Seat 0 wants equal coins, seat 1 different ones. The one equilibrium is (1/2, 1/2) for both seats; value 0."""
