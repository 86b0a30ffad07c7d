"""Find tables that are hard without communication: dialop's filter, compiled.

Of random 8 x 8 tables one in some thousands passes, and each needs up to three best assignments. They are found by
dynamic programming over the sets of columns that the first rows take (Held and Karp, 1962): 2^n sums of at most n.
All compiled functions are in this file, because Numba's cache watches one file for changes.
Letters in shapes: N tables, n rows and as many columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class _Memory(NamedTuple):
    """Scratch arrays of the search; compiled rules cannot create arrays."""

    sums: Floats  # [2^n] by set of columns: the largest sum of the first rows
    last: Ints  # [2^n] and the column of the last of them
    rows: Ints  # [2^n] columns in the set
    seen: Floats  # [n, n] a table as a player takes it
    columns: Ints  # [n] the answer


def first_hard(tables: Floats, masks: Bools, unseen: float, hardness: float) -> int:
    """Number of the first table that is worth more than ``hardness`` times either player's own assignment.

    Args:
        tables: [N, n, n] values of the cells.
        masks: [2, N, n, n] cells that each player sees.
        unseen: Value that a player assumes for a cell that it does not see.
        hardness: Factor.

    Returns:
        The number, or -1 if there is none.
    """
    return int(_first_hard(tables, masks, float(unseen), float(hardness), _memory(tables.shape[-1])))


def best_columns(values: Floats) -> Ints:
    """[n] the column of each row in an assignment with the largest sum, of [n, n]; of equal ones, the filter's."""
    memory = _memory(len(values))
    _search(np.ascontiguousarray(values, np.float64), memory)
    return memory.columns


def _memory(size: int) -> _Memory:
    sets = 1 << size
    rows = np.array([taken.bit_count() for taken in range(sets)], np.int64)
    return _Memory(np.zeros(sets), np.zeros(sets, np.int64), rows, np.zeros((size, size)), np.zeros(size, np.int64))


@compiled
def _search(values: Floats, memory: _Memory) -> float:
    """Fill ``memory.columns``, and give the largest sum. Of equal ones the higher column is taken, last row first."""
    sums, last = memory.sums, memory.last
    sums[0] = 0.0
    for taken in range(1, len(sums)):
        row = memory.rows[taken] - 1
        most, chosen, column, left = -np.inf, 0, 0, taken
        while left:
            if left & 1:
                total = sums[taken ^ (1 << column)] + values[row, column]
                chosen = column if total >= most else chosen
                most = max(most, total)
            column += 1
            left >>= 1
        sums[taken] = most
        last[taken] = chosen
    taken = len(sums) - 1
    for row in range(len(values) - 1, -1, -1):
        memory.columns[row] = last[taken]
        taken ^= 1 << memory.columns[row]
    return float(sums[-1])


@compiled
def _first_hard(tables: Floats, masks: Bools, unseen: float, hardness: float, memory: _Memory) -> int:
    for i in range(len(tables)):
        table = tables[i]
        most = _row_maxima(table)  # no assignment is worth more
        alone = _alone(table, masks[0, i], unseen, memory) * hardness
        if alone >= most:
            continue
        best = _search(table, memory)
        if alone < best and _alone(table, masks[1, i], unseen, memory) * hardness < best:
            return i
    return -1


@rule
def _row_maxima(table: Floats) -> float:
    total = 0.0
    for row in range(len(table)):
        most = table[row, 0]
        for column in range(1, len(table)):
            most = max(most, table[row, column])
        total += most
    return total


@rule
def _alone(table: Floats, mask: Bools, unseen: float, memory: _Memory) -> float:
    """Value of the assignment that is best on the cells of a mask."""
    for row in range(len(table)):
        for column in range(len(table)):
            memory.seen[row, column] = table[row, column] if mask[row, column] else unseen
    _search(memory.seen, memory)
    total = 0.0
    for row in range(len(table)):
        total += table[row, memory.columns[row]]
    return total
