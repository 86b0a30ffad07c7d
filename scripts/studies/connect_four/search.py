"""The search of Connect Four, compiled; all of it is in this file since Numba's cache watches no other.

Seven columns, six rows. Square (column c, row r from the bottom) is bit 7c + r of an integer, and bit 7c + 6, above
each column, stays 0. A position is the pair (own, taken): the stones of the side to move, and those of both sides.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import compiled, rule

I64 = NDArray[np.int64]

COLUMNS: Final = 7
ROWS: Final = 6
SQUARES: Final = COLUMNS * ROWS
STRIDE: Final = ROWS + 1  # bits a column
FULL: Final = 2**ROWS - 1  # a full first column
FLOOR: Final = sum(1 << STRIDE * c for c in range(COLUMNS))
BOARD: Final = FLOOR * FULL
ILLEGAL: Final = -127  # in place of the value of a move in a full column

_ORDER: Final = (3, 2, 4, 1, 5, 0, 6)  # columns, from the centre


@rule
def _fours(own: int, taken: int) -> int:
    """Empty squares that complete four of ``own``."""
    squares = (own << 1) & (own << 2) & (own << 3)
    for step in (STRIDE - 1, STRIDE, STRIDE + 1):
        pair = (own << step) & (own << 2 * step)
        squares |= pair & ((own << 3 * step) | (own >> step))
        pair = (own >> step) & (own >> 2 * step)
        squares |= pair & ((own >> 3 * step) | (own << step))
    return squares & (BOARD ^ taken)


@rule
def _moves(taken: int) -> int:
    return (taken + FLOOR) & BOARD


@rule
def _limited(own: int, taken: int, depth: int, alpha: int, beta: int) -> int:
    """Value within ``depth`` plies: plus or minus the plies that a win leaves, that of its own move included, or 0."""
    moves = _moves(taken)
    if depth == 0 or moves == 0:
        return 0
    if moves & _fours(own, taken):
        return depth
    for column in _ORDER:
        move = moves & (FULL << STRIDE * column)
        if move:
            value = -_limited(taken ^ own, taken | move, depth - 1, -beta, -alpha)
            if value >= beta:
                return value
            alpha = max(alpha, value)
    return alpha


@compiled
def limited_values(own: int, taken: int, depth: int, values: I64) -> None:
    """Write the value of every move within ``depth`` plies, or ILLEGAL; all are exact.

    A win has a value above 0, the nearer the larger, a loss minus that, and all else is 0.

    Args:
        own: Stones of the side to move.
        taken: Stones of both sides.
        depth: Plies that are searched, at least 1.
        values: [COLUMNS] is written.
    """
    moves = _moves(taken)
    fours = _fours(own, taken)
    for column in range(COLUMNS):
        move = moves & (FULL << STRIDE * column)
        if move == 0:
            values[column] = ILLEGAL
        elif move & fours:
            values[column] = depth
        else:
            values[column] = -_limited(taken ^ own, taken | move, depth - 1, -depth, depth)
