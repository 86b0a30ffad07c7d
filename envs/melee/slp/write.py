"""The bytes of a .slp file: the stream of events, and the UBJSON object around it."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp import layout
from envs.melee.slp.container import HEADER, METADATA_KEY, Value
from envs.melee.slp.layout import EVENTS, FRAME_HEAD, PLAYER_HEAD, Field, Version, packed, recorded, size_of

_COMMAND: Final = Field("command", 0x0, "u1")
_SINCE: Final = {
    layout.FRAME_START: (2, 2, 0),
    layout.ITEM: (3, 0, 0),
    layout.FRAME_BOOKEND: (3, 0, 0),
    layout.FOUNTAIN: (3, 18, 0),
    layout.WHISPY: (3, 18, 0),
    layout.STADIUM: (3, 18, 0),
}


class DoesNotFit(ValueError):
    """A value does not fit into its field; ``args`` is the message."""


def known_events(version: Version) -> list[int]:
    """Commands of the frame events that files of this version have."""
    return [command for command in EVENTS if _SINCE.get(command, version) <= version]


def pack_events(
    command: int, version: Version, heads: Mapping[str, NDArray[np.generic]], columns: NDArray[np.void]
) -> NDArray[np.void]:
    """Events [...] from native columns [...]; ``heads`` are the frame number and, of a player, the port.

    Raises:
        DoesNotFit: a number does not fit into its field.
    """
    fields = EVENTS[command]
    size = size_of(fields, version)
    head = PLAYER_HEAD if "port" in heads else FRAME_HEAD
    events = np.zeros(columns.shape, packed((_COMMAND, *head, *recorded(fields, version, size)), size))
    events["command"] = command
    for name, value in heads.items():
        events[name] = value
    for f in recorded(fields, version, size):
        _check_fits(f, columns[f.name])
        events[f.name] = columns[f.name]
    return events


def _check_fits(f: Field, values: NDArray[np.generic]) -> None:
    base = np.dtype(f.type).base
    if base.kind == "f" or values.size == 0:
        return
    limits = np.iinfo(base)
    low, high = values.min(), values.max()
    if low < limits.min or high > limits.max:
        wrong = low if low < limits.min else high
        raise DoesNotFit(f"{f.name} is {wrong}, {limits.min} to {limits.max} can be written")


def join_events(frames: Sequence[tuple[NDArray[np.void], NDArray[np.int64] | None]], num_frames: int) -> bytes:
    """All events in the order of the file: frame by frame, and within a frame in the order of ``frames``.

    Args:
        frames: Events of one kind with the row of the frame of each (rising); None: one event in each frame.
        num_frames: T.
    """
    columns: list[list[bytes]] = []
    for events, rows in frames:
        data, size = events.tobytes(), events.dtype.itemsize
        if rows is None:
            columns.append([data[i : i + size] for i in range(0, len(data), size)])
        else:
            cuts = (np.searchsorted(rows, np.arange(num_frames + 1)) * size).tolist()
            columns.append([data[i:j] for i, j in itertools.pairwise(cuts)])
    return b"".join(part for parts in zip(*columns, strict=True) for part in parts)


def size_table(version: Version, start: bytes) -> bytes:
    """The event that opens a stream: the sizes of all others."""
    sizes = {layout.GAME_START: len(start) - 1, layout.GAME_END: size_of(layout.END_FIELDS, version)}
    sizes |= {command: size_of(EVENTS[command], version) for command in known_events(version)}
    pairs = b"".join(struct.pack(">BH", command, size) for command, size in sorted(sizes.items()))
    return bytes((layout.EVENT_PAYLOADS, len(pairs) + 1)) + pairs


def wrap(stream: bytes, metadata: Mapping[str, Value]) -> bytes:
    return HEADER + struct.pack(">I", len(stream)) + stream + METADATA_KEY + _value(metadata) + b"}"


def _value(value: Value | Mapping[str, Value]) -> bytes:
    if isinstance(value, Mapping):
        return b"{" + b"".join(_text(key) + _value(inner) for key, inner in value.items()) + b"}"
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return b"l" + struct.pack(">i", value)
    raise TypeError(f"metadata of type {type(value).__name__}")


def _text(text: str) -> bytes:
    data = text.encode()
    return (b"U" + bytes((len(data),)) if len(data) < 256 else b"l" + struct.pack(">i", len(data))) + data
