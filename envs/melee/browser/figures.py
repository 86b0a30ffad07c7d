"""Figures and hit circles of characters by action and frame, as tables for ``scene.js``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.actions import NUM_ACTIONS
from envs.melee.drawing import moves
from envs.melee.drawing.columns import FIGURE_UNIT, circle_columns, whole
from envs.melee.drawing.poses import ATTACKS

FRAMES: Final = 100
"""Frames of an action that the tables hold. Later the movement repeats (``poses.period_of``) or has ended."""


class _Numbered:
    """Different arrays, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[bytes, int] = {}

    def number_of(self, array: NDArray[Any]) -> int:
        number = self._numbers.setdefault(array.tobytes(), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        return number


def move_tables(characters: Sequence[int]) -> dict[str, NDArray[np.generic]]:
    """Tables of characters, by Melee's internal ids. Each figure, set of circles and sequence of frames is there once.

    Returns:
        ``figures`` int16 [F, J, 2], ``circle`` int16 [K, 3] and ``circles_at`` uint32 [S + 1] as in the columns of a
        film; ``row_figure`` and ``row_circles`` uint16 [R], which of them a frame has; ``first`` and ``count`` uint16
        [C, NUM_ACTIONS], the rows of an action of a character. The last row is that of all later frames.
    """
    figures, circles, sequences = _Numbered(), _Numbered(), _Numbered()
    which = np.zeros((len(characters), NUM_ACTIONS), np.uint16)
    for index, character in enumerate(characters):
        drawn: dict[tuple[object, ...], list[int]] = {}  # figures of a sequence, by what they depend on
        for action in range(NUM_ACTIONS):
            start = moves.Move(character, action, 0)
            key = start.category, moves.timing_of(start) if start.category in ATTACKS else None
            if key not in drawn:
                drawn[key] = [figures.number_of(whole(moves.figure(move), FIGURE_UNIT)) for move in _frames(start)]
            hits = [circles.number_of(moves.circles(move)) for move in _frames(start)]
            rows = np.array([drawn[key], hits], np.uint16).T
            last = np.flatnonzero((rows != rows[-1]).any(1)).max(initial=-1) + 1  # from here on all are equal
            which[index, action] = sequences.number_of(rows[: last + 1])
    first = np.cumsum([0, *map(len, sequences.arrays)]).astype(np.uint16)
    figure, hit = np.concatenate(sequences.arrays).T
    return {
        "figures": np.stack(figures.arrays),
        **circle_columns(circles.arrays),
        "row_figure": figure,
        "row_circles": hit,
        "first": first[which],
        "count": np.diff(first)[which],
    }


def _frames(start: moves.Move) -> Iterator[moves.Move]:
    return (start._replace(frame=frame) for frame in range(FRAMES))
