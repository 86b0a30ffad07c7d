"""A picture as characters of a terminal, two pixels each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

UPPER_HALF: Final = "▀"  # the upper pixel has the colour of the character, the lower that of its background
_RESET: Final = "\x1b[0m"

Run = tuple[int, NDArray[np.uint8], NDArray[np.uint8]]


def rows_of(pixels: NDArray[np.uint8]) -> Iterator[list[Run]]:
    """For each row of characters its runs of equal ones: length, colour of the upper pixel and of the lower.

    Args:
        pixels: [2 rows, columns, 3].
    """
    for row in np.concatenate([pixels[0::2], pixels[1::2]], axis=-1):
        starts = np.flatnonzero((np.diff(row.astype(np.int16), axis=0, prepend=-1) != 0).any(axis=-1))
        ends = [*starts[1:], len(row)]
        yield [(int(end - start), row[start, :3], row[start, 3:]) for start, end in zip(starts, ends, strict=True)]


def ansi(pixels: NDArray[np.uint8]) -> str:
    """Pixels [2 rows, columns, 3] as lines with escape sequences of 24-bit colours."""
    return "\n".join("".join(map(_ansi, row)) + _RESET for row in rows_of(pixels))


def _ansi(run: Run) -> str:
    length, *colours = run
    upper, lower = (";".join(map(str, colour.tolist())) for colour in colours)
    return f"\x1b[38;2;{upper};48;2;{lower}m" + UPPER_HALF * length
