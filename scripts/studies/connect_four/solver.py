"""The exact value of every move of a position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from envs.errors import GameError
from scripts.studies.connect_four.search import COLUMNS, I64, ILLEGAL, SQUARES, move_scores

if TYPE_CHECKING:
    from scripts.studies.connect_four.board import Position

HIGHEST: Final = SQUARES // 2 + 1  # above every score


class Solver:
    """Alpha-beta search to the end of the game, with a table of positions that is kept from call to call.

    A position with 14 stones takes milliseconds, one with 8 a second or more. One thread uses it at a time.

    Args:
        bits: The table has two to the power of this many entries, 8 bytes each.
    """

    def __init__(self, bits: int = 22) -> None:
        self._table = np.zeros(1 << bits, np.int64)
        self._stack = np.zeros((SQUARES, COLUMNS), np.int64)
        self._values: dict[Position, I64] = {}  # several players are measured on the same positions

    def values(self, position: Position) -> I64:
        """1 for every move that wins, 0 draws, -1 loses if both sides play perfectly; ILLEGAL for a full column.

        Raises:
            GameError: the game is over.
        """
        if position not in self._values:
            scores = self._solve(position, 1)
            self._values[position] = np.where(scores == ILLEGAL, ILLEGAL, np.sign(scores))
        return self._values[position]

    def scores(self, position: Position) -> I64:
        """How soon every move wins or loses if both sides play perfectly; about twice the work of ``values``.

        A win counts the stones that the winner has left, plus one. A loss is minus that of the other side, a draw 0.

        Raises:
            GameError: the game is over.
        """
        return self._solve(position, HIGHEST)

    def _solve(self, position: Position, limit: int) -> I64:
        if position.over:
            raise GameError(f"no move is left to be solved: the game is over after {position.stones} stones")
        scores = np.empty(COLUMNS, np.int64)
        move_scores(*position, limit, self._table, self._stack, scores)
        return scores
