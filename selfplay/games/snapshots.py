"""Snapshots of games: copy the state arrays, and write them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import GameError

Parts = dict[str, NDArray[Any]]
Arrays = Mapping[str, NDArray[Any]]


def copied(parts: Arrays) -> Parts:
    return {name: np.array(array) for name, array in parts.items()}


def put_back(parts: Parts, arrays: Parts) -> None:
    """Write a snapshot into the arrays that it was made of."""
    if {n: (a.shape, a.dtype) for n, a in parts.items()} != {n: (a.shape, a.dtype) for n, a in arrays.items()}:
        raise GameError("the snapshot is of another block: names, shapes or types differ")
    for name, array in arrays.items():
        parts[name][...] = array
