"""Find tables that are hard without communication: dialop's filter, compiled.

Of random 8 x 8 tables one in some thousands passes, and each needs up to three best assignments. They are found by
dynamic programming over the sets of columns that the first rows take (Held and Karp, 1962): 2^n sums of at most n.

A player that knows only its own cells often has many assignments that look equally good. dialop takes the one that
SciPy finds first, which depends on the order of rows and columns. Here each of them is as likely as the others, so
that no order matters: the same dynamic programming counts them, and one is drawn row by row by these counts.
All compiled functions are in this file, because Numba's cache watches one file for changes.
Letters in shapes: N tables, n rows and as many columns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import compiled, rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
TIE: Final = 1e-6  # sums that differ by less are equal: that of one assignment depends on the order of its rows


class _Memory(NamedTuple):
    """Scratch arrays of the search, [2^n] by set of columns; compiled rules cannot create arrays."""

    sums: Floats  # the largest sum of the first rows
    counts: Floats  # assignments of the first rows with that sum, of the sets in ``found``; 0 for others
    worths: Floats  # what these are worth on average
    rows: Ints  # columns in the set
    found: Ints  # the sets that occur in best assignments, from the full to the empty one
    seen: Floats  # [n, n] a table as a player takes it


def first_hard(tables: Floats, masks: Bools, chances: Floats, unseen: float, hardness: float) -> int:
    """Number of the first table that is worth more than ``hardness`` times either player's own assignment.

    Args:
        tables: [N, n, n] values of the cells.
        masks: [2, N, n, n] cells that each player sees.
        chances: [2, N, n] uniform from 0 to 1: they choose one of the assignments that look equally good to a player.
        unseen: Value that a player assumes for a cell that it does not see.
        hardness: Factor.

    Returns:
        The number, or -1 if there is none.
    """
    return int(_first_hard(tables, masks, chances, float(unseen), float(hardness), _memory(tables.shape[-1])))


def solo_worth(table: Floats, mask: Bools, unseen: float) -> float:
    """Mean value of all assignments that are best on the cells of a mask, equally likely.

    Args:
        table: [n, n] values of the cells.
        mask: [n, n] cells that are seen.
        unseen: Value that is assumed for the others.
    """
    return float(_mean_alone(np.ascontiguousarray(table, np.float64), mask, float(unseen), _memory(len(table))))


def _memory(size: int) -> _Memory:
    sets = 1 << size
    rows = np.array([taken.bit_count() for taken in range(sets)], np.int64)
    sums, counts, worths = np.zeros((3, sets))
    return _Memory(sums, counts, worths, rows, np.zeros(sets, np.int64), np.zeros((size, size)))


@compiled
def _first_hard(tables: Floats, masks: Bools, chances: Floats, unseen: float, hardness: float, memory: _Memory) -> int:
    for i in range(len(tables)):
        table = tables[i]
        most = _row_maxima(table)  # no assignment is worth more
        alone = _alone(table, masks[0, i], chances[0, i], unseen, memory) * hardness
        if alone >= most:
            continue
        best = _search(table, memory)
        if alone < best and _alone(table, masks[1, i], chances[1, i], unseen, memory) * hardness < best:
            return i
    return -1


@rule
def _search(values: Floats, memory: _Memory) -> float:
    """The largest sum of an assignment."""
    sums = memory.sums
    sums[0] = 0.0
    for taken in range(1, len(sums)):
        row, most, column, left = memory.rows[taken] - 1, -np.inf, 0, taken
        while left:
            if left & 1:
                total = sums[taken ^ (1 << column)] + values[row, column]
                most = max(most, total)
            column += 1
            left >>= 1
        sums[taken] = most
    return float(sums[-1])


@rule
def _row_maxima(table: Floats) -> float:
    total = 0.0
    for row in range(len(table)):
        most = table[row, 0]
        for column in range(1, len(table)):
            most = max(most, table[row, column])
        total += most
    return total


@compiled
def _mean_alone(table: Floats, mask: Bools, unseen: float, memory: _Memory) -> float:
    counts, worths = memory.counts, memory.worths
    worths[0] = 0.0
    for i in range(_count(table, mask, unseen, memory) - 2, -1, -1):
        taken, worth = memory.found[i], 0.0
        row = memory.rows[taken] - 1
        for column in range(len(table)):
            if _is_best(taken, row, column, memory):
                before = taken ^ (1 << column)
                worth += (worths[before] + table[row, column]) * counts[before]
        worths[taken] = worth / counts[taken]
    return float(worths[-1])


@rule
def _alone(table: Floats, mask: Bools, chances: Floats, unseen: float, memory: _Memory) -> float:
    """Value of one of the assignments that are best on the cells of a mask, each equally likely."""
    _count(table, mask, unseen, memory)
    taken, worth = len(memory.sums) - 1, 0.0
    for row in range(len(table) - 1, -1, -1):
        left, chosen = chances[row] * memory.counts[taken], 0
        for column in range(len(table)):
            if left >= 0 and _is_best(taken, row, column, memory):
                left -= memory.counts[taken ^ (1 << column)]
                chosen = column
        worth += table[row, chosen]
        taken ^= 1 << chosen
    return worth


@rule
def _count(table: Floats, mask: Bools, unseen: float, memory: _Memory) -> int:
    """Count the assignments that are best on the cells of a mask; the number of sets in ``memory.found``."""
    counts, found, size = memory.counts, memory.found, len(table)
    for row in range(size):
        for column in range(size):
            memory.seen[row, column] = table[row, column] if mask[row, column] else unseen
    _search(memory.seen, memory)
    counts[:] = 0.0
    found[0], many, i = len(counts) - 1, 1, 0
    while i < many:
        taken = found[i]
        for column in range(size):
            before = taken ^ (1 << column)
            if _is_best(taken, memory.rows[taken] - 1, column, memory) and counts[before] == 0:
                counts[before] = 1.0
                found[many] = before
                many += 1
        i += 1
    for i in range(many - 2, -1, -1):
        taken, count = found[i], 0.0
        for column in range(size):
            if _is_best(taken, memory.rows[taken] - 1, column, memory):
                count += counts[taken ^ (1 << column)]
        counts[taken] = count
    return many


@rule
def _is_best(taken: int, row: int, column: int, memory: _Memory) -> bool:
    """Whether the best sum of a set may have this column in its last row."""
    if not taken >> column & 1:
        return False
    total = memory.sums[taken ^ (1 << column)] + memory.seen[row, column]
    return bool(total > memory.sums[taken] - TIE)
