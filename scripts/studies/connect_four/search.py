"""The searches of Connect Four, compiled; all are in this file since Numba's cache watches no other.

Seven columns, six rows. Square (column c, row r from the bottom) is bit 7c + r of an integer, and bit 7c + 6, above
each column, stays 0. A position is the pair (own, taken): the stones of the side to move, and those of both sides.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule

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
# An entry of the table is key * 128 + bound, where bound is 64 if it is a lower one, plus the score, plus 32.
_KEY: Final = 128
_LOWER: Final = 64
_ZERO: Final = 32
_HASH: Final = 0x1E3779B97F4A7C15
_HASH_SHIFT: Final = 36  # the bits above depend on all of the key


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
def _count(squares: int) -> int:
    count = 0
    while squares:
        squares &= squares - 1
        count += 1
    return count


@rule
def _moves(taken: int) -> int:
    return (taken + FLOOR) & BOARD


@rule
def _safe_moves(own: int, taken: int) -> int:
    """Moves after which the other side has no four at once."""
    threats = _fours(taken ^ own, taken)
    moves = _moves(taken)
    forced = moves & threats
    if forced:
        if forced & (forced - 1):
            return 0
        moves = forced
    return moves & ~(threats >> 1)


@rule
def _score(own: int, taken: int, stones: int, alpha: int, beta: int, table: I64, stack: I64) -> int:
    """Score of a position whose side to move has no four at once, or a bound of it outside of (alpha, beta).

    Args:
        own: Stones of the side to move.
        taken: Stones of both sides.
        stones: Number of them.
        alpha: A score of at most this is as good as any below.
        beta: A score of at least this is as good as any above.
        table: Bounds of scores by position; its size is a power of two.
        stack: [SQUARES, COLUMNS] moves of the positions above this one.
    """
    moves = _safe_moves(own, taken)
    if moves == 0:
        return -((SQUARES - stones) // 2)
    if stones >= SQUARES - 2:
        return 0
    worst = -((SQUARES - 2 - stones) // 2)
    if alpha < worst:
        alpha = worst
        if alpha >= beta:
            return alpha
    best = (SQUARES - 1 - stones) // 2
    if beta > best:
        beta = best
        if alpha >= beta:
            return beta
    key = own + taken + FLOOR
    slot = ((key * _HASH) >> _HASH_SHIFT) & (len(table) - 1)
    entry = table[slot]
    if entry // _KEY == key:
        bound = entry % _KEY
        if bound >= _LOWER:
            low = bound - _LOWER - _ZERO
            if alpha < low:
                alpha = low
                if alpha >= beta:
                    return alpha
        else:
            high = bound - _ZERO
            if beta > high:
                beta = high
                if alpha >= beta:
                    return beta
    count = 0
    ordered = stack[stones]
    for column in _ORDER:  # those that threaten most come first
        move = moves & (FULL << STRIDE * column)
        if move:
            weight = _count(_fours(own | move, taken | move))
            i = count
            while i > 0 and (ordered[i - 1] >> 49) < weight:
                ordered[i] = ordered[i - 1]
                i -= 1
            ordered[i] = (weight << 49) | move
            count += 1
    for i in range(count):
        move = ordered[i] & BOARD
        score = -_score(taken ^ own, taken | move, stones + 1, -beta, -alpha, table, stack)
        if score >= beta:
            table[slot] = key * _KEY + _LOWER + _ZERO + score
            return score
        if score > alpha:
            alpha = score
    table[slot] = key * _KEY + _ZERO + alpha
    return alpha


@compiled
def move_scores(own: int, taken: int, limit: int, table: I64, stack: I64, scores: I64) -> None:
    """Write the score of every move of a game that is not over, or ILLEGAL.

    The score of a win is the number of stones that the winner then has left, plus one; that of a loss is minus the
    same, of a draw 0. Scores beyond ``limit`` may be any beyond it: with limit 1 only their signs are right.

    Args:
        own: Stones of the side to move.
        taken: Stones of both sides.
        limit: Largest score that matters, at least 1.
        table: Bounds of scores by position; its size is a power of two. Kept from call to call.
        stack: [SQUARES, COLUMNS] memory of the search.
        scores: [COLUMNS] is written.
    """
    stones = _count(taken)
    moves = _moves(taken)
    fours = _fours(own, taken)
    other = taken ^ own
    for column in range(COLUMNS):
        move = moves & (FULL << STRIDE * column)
        after = taken | move
        if move == 0:
            scores[column] = ILLEGAL
        elif move & fours:
            scores[column] = (SQUARES + 1 - stones) // 2
        elif stones == SQUARES - 1:
            scores[column] = 0
        elif _moves(after) & _fours(other, after):
            scores[column] = -((SQUARES - stones) // 2)
        else:
            low, high = -limit, limit
            while low < high:
                middle = 0 if low < 0 < high else (low + high) // 2
                score = -_score(other, after, stones + 1, -middle - 1, -middle, table, stack)
                if score <= middle:
                    high = score
                else:
                    low = score
            scores[column] = low


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
