"""Positions of Connect Four as bits, and games between players that see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.errors import GameError
from scripts.studies.connect_four.search import BOARD, COLUMNS, FLOOR, FULL, ROWS, STRIDE


class Position(NamedTuple):
    """A position of the side to move; ``search`` says which bit is which square."""

    own: int = 0  # stones of the side to move
    taken: int = 0  # stones of both sides

    @classmethod
    def of(cls, board: Sequence[int], seat: int) -> Position:
        """From 42 squares, row by row from the top: 0 empty, 1 a stone of seat 0, 2 of seat 1, as in PettingZoo."""
        own = taken = 0
        for i, stone in enumerate(board):
            if stone:
                bit = 1 << STRIDE * (i % COLUMNS) + ROWS - 1 - i // COLUMNS
                taken |= bit
                if stone == seat + 1:
                    own |= bit
        return cls(own, taken)

    @property
    def stones(self) -> int:
        """Number of stones of both sides."""
        return self.taken.bit_count()

    @property
    def planes(self) -> NDArray[np.int8]:
        """What the side to move observes in PettingZoo, [6, 7, 2]: its own stones, and those of the other side."""
        sides = self.own, self.taken ^ self.own
        rows, columns = range(ROWS - 1, -1, -1), range(COLUMNS)
        return np.array([[[side >> STRIDE * c + r & 1 for side in sides] for c in columns] for r in rows], np.int8)

    @property
    def lost(self) -> bool:
        """Whether the side that has just moved has four in a row."""
        other = self.taken ^ self.own
        return any(
            other & other >> step & other >> 2 * step & other >> 3 * step
            for step in (1, STRIDE - 1, STRIDE, STRIDE + 1)
        )

    @property
    def over(self) -> bool:
        """Whether one side has four in a row or the board is full."""
        return self.taken == BOARD or self.lost

    @property
    def legal(self) -> list[int]:
        """Columns that are not full."""
        return [column for column in range(COLUMNS) if self._square(column)]

    def after(self, column: int) -> Position:
        """The position of the other side after a move.

        Raises:
            GameError: the column is full, or there is none of this number.
        """
        if column not in self.legal:
            raise GameError(f"column {column} is full or does not exist (valid: {', '.join(map(str, self.legal))})")
        return Position(self.taken ^ self.own, self.taken | self._square(column))

    def _square(self, column: int) -> int:
        return (self.taken + FLOOR) & BOARD & FULL << STRIDE * column


Choose = Callable[[Position], int]
"""A player: the column of its move."""


def play(first: Choose, second: Choose) -> list[Position]:
    """The positions of a game between two players, from the empty board to the end."""
    positions = [Position()]
    while not positions[-1].over:
        choose = (first, second)[(len(positions) - 1) % 2]
        positions.append(positions[-1].after(choose(positions[-1])))
    return positions
