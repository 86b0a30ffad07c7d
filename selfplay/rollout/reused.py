"""Large arrays that are used again: fresh memory costs several times what filling it does."""

from __future__ import annotations

import sys
import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray


def _alike(array: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> bool:
    return array.dtype == dtype and array.shape[1:] == shape[1:]


def _references(arrays: list[NDArray[Any]], place: int) -> int:
    """How many there are to an array of a list, those of the list and of this question included."""
    return sys.getrefcount(arrays[place])


_OURS: Final = _references([np.empty(0)], 0)  # to one that nobody else has: releases of Python count differently


class Reused:
    """Gives arrays, and gives one again once whoever had it, and all views of it, are gone. Safe for threads."""

    def __init__(self) -> None:
        self._kept: list[NDArray[Any]] = []
        self._mutex = threading.Lock()

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> NDArray[Any]:
        """An array of this shape and type, its numbers undefined; or the beginning of a longer one."""
        with self._mutex:
            smaller = []
            for place in range(len(self._kept)):  # a name for the array would be one more reference
                if _alike(self._kept[place], shape, dtype) and _references(self._kept, place) == _OURS:
                    if len(self._kept[place]) >= shape[0]:
                        return self._kept[place][: shape[0]]
                    smaller.append(place)
            for place in reversed(smaller):
                del self._kept[place]
            self._kept.append(np.empty(shape, dtype))
            return self._kept[-1][:]
