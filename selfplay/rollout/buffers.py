"""Large arrays that are used again: allocating memory costs several times what filling it does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Workspace:
    """Scratch arrays by name. A request for a name overwrites the last array of that name. For one thread at a time."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array of this shape and type with undefined content; the beginning of a longer one where there is one."""
        kept = self._arrays.get(name)
        if kept is None or kept.dtype != dtype or kept.shape[1:] != shape[1:] or len(kept) < shape[0]:
            kept = self._arrays[name] = np.empty(shape, dtype)
        return kept[: shape[0]]


class BufferPool:
    """Arrays that return when their user gives them back. Arrays that are not given back are freed as usual."""

    def __init__(self) -> None:
        self._free: list[NDArray[Any]] = []

    def take(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array of this shape and type with undefined content, for the caller alone."""
        try:
            array = self._free.pop()
        except IndexError:
            return np.empty(shape, dtype)
        return array if array.shape == shape and array.dtype == dtype else np.empty(shape, dtype)

    def give_back(self, array: NDArray[Any]) -> None:
        """Let the next ``take`` return this array; the caller must not use it any more."""
        self._free.append(array)
