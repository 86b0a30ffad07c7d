"""A player that searches a few plies and chooses among the best moves at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scripts.studies.connect_four.search import COLUMNS, I64, ROWS, STRIDE, limited_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.games.game import Player


def bits(board: Sequence[int], seat: int) -> tuple[int, int]:
    """Stones of a seat, and of both seats; ``search`` says which bit is which square.

    ``board`` has 42 squares, row by row from the top: 0 empty, 1 a stone of seat 0, 2 of seat 1, as in PettingZoo.
    """
    own = taken = 0
    for i, stone in enumerate(board):
        if stone:
            bit = 1 << STRIDE * (i % COLUMNS) + ROWS - 1 - i // COLUMNS
            taken |= bit
            if stone == seat + 1:
                own |= bit
    return own, taken


def values(own: int, taken: int, depth: int) -> I64:
    """Value of every move [7] within ``depth`` plies, exact: above 0 wins, the nearer the larger; below 0 loses.

    It is 0 where neither happens within ``depth``, which is at least 1, and ILLEGAL for a full column.
    """
    found = np.empty(COLUMNS, np.int64)
    limited_values(own, taken, depth, found)
    return found


def choose(own: int, taken: int, depth: int, rng: np.random.Generator) -> int:
    """A column, drawn uniformly from the moves of the largest value."""
    found = values(own, taken, depth)
    return int(rng.choice(np.flatnonzero(found == found.max())))


def player(depth: int) -> Player[Any]:
    """The player as a scripted player of PettingZoo's ``connect_four_v3``, which the game has as ``env``."""

    def act(game: Any, seat: int, rng: np.random.Generator) -> int:  # noqa: ANN401  (a game that wraps an environment)
        return choose(*bits(game.env.unwrapped.board, seat), depth, rng)

    return act
