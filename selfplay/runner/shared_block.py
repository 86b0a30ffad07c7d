"""The arrays that the two ends of the process host share, laid out in one memory-mapped file."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Fields = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]  # name -> (shape, type)
ALIGN = 64
PREFIX = "snapshot "


def layout(
    seats: tuple[int, int],
    obs_width: int,
    action_width: int,
    stats: np.dtype[Any],
    mask_width: int = 0,
    snapshot: Fields | None = None,
) -> Fields:
    """Shapes and types of everything that is exchanged by games with ``seats`` [B, P]; ``mask_width`` 0: no legal mask.

    The arrays of a ``snapshot`` have its prefix (``snapshot_of``).
    """
    b = seats[0]
    mask: Fields = {"legal": ((*seats, mask_width), np.dtype(np.bool_))} if mask_width else {}
    return {
        "seeds": ((b,), np.dtype(np.uint64)),
        "bots": (seats, np.dtype(np.int8)),
        "actions": ((*seats, action_width), np.dtype(np.int8)),
        "acts": (seats, np.dtype(np.bool_)),
        "obs": ((*seats, obs_width), np.dtype(np.float32)),
        "reward": (seats, np.dtype(np.float32)),
        "terminated": ((b,), np.dtype(np.bool_)),
        "truncated": ((b,), np.dtype(np.bool_)),
        "final_obs": ((*seats, obs_width), np.dtype(np.float32)),
        "score": (seats, np.dtype(np.float32)),
        "stats": (seats, stats),
        **mask,
        **{PREFIX + name: field for name, field in (snapshot or {}).items()},
    }


def snapshot_of(shared: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a snapshot among the shared ones."""
    return {name.removeprefix(PREFIX): array for name, array in shared.items() if name.startswith(PREFIX)}


def size_of(fields: Fields) -> int:
    return sum(_padded(shape, dtype) for shape, dtype in fields.values())


def _padded(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    size = int(np.prod(shape)) * dtype.itemsize
    return -(-size // ALIGN) * ALIGN


def map_arrays(file: int, fields: Fields) -> dict[str, NDArray[Any]]:
    """Map an open file (its descriptor) and give a writable array for each field; they keep the mapping alive."""
    memory = mmap.mmap(file, size_of(fields))
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, (shape, dtype) in fields.items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += _padded(shape, dtype)
    return arrays
