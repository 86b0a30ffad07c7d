"""The arrays that the two ends of the process host share, laid out in one memory-mapped file."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Layout = dict[str, tuple[tuple[int, ...], str]]  # name -> (shape, numpy dtype as str or as JSON-able field list)
ALIGN = 64


def layout(
    num_games: int, obs_width: int, action_width: int, stats: np.dtype[Any], mask_width: int = 0
) -> dict[str, Any]:
    """Shapes and types of everything that a step exchanges. B games, two seats; ``mask_width`` 0: no legal mask."""
    b = num_games
    mask = {"legal": ((b, 2, mask_width), np.dtype(np.bool_))} if mask_width else {}
    return {
        "seeds": ((b,), np.dtype(np.uint64)),
        "bots": ((b, 2), np.dtype(np.int8)),
        "actions": ((b, 2, action_width), np.dtype(np.int8)),
        "acts": ((b, 2), np.dtype(np.bool_)),
        "obs": ((b, 2, obs_width), np.dtype(np.float32)),
        "reward": ((b, 2), np.dtype(np.float32)),
        "terminated": ((b,), np.dtype(np.bool_)),
        "truncated": ((b,), np.dtype(np.bool_)),
        "final_obs": ((b, 2, obs_width), np.dtype(np.float32)),
        "score": ((b, 2), np.dtype(np.float32)),
        "stats": ((b, 2), stats),
        **mask,
    }


def size_of(fields: dict[str, Any]) -> int:
    """Bytes of a file that holds all fields."""
    return sum(_padded(shape, dtype) for shape, dtype in fields.values())


def _padded(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    size = int(np.prod(shape)) * dtype.itemsize
    return -(-size // ALIGN) * ALIGN


def map_arrays(file: int, fields: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Map an open file (its descriptor) and give a writable array for each field; they keep the mapping alive."""
    memory = mmap.mmap(file, size_of(fields))
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, (shape, dtype) in fields.items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += _padded(shape, dtype)
    return arrays
