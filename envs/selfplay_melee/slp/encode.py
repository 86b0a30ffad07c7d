"""A replay as the bytes of a .slp file of its version, with only the fields that the version records."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.slp import layout
from selfplay_melee.slp.container import HEADER, METADATA_KEY, Value
from selfplay_melee.slp.layout import EVENTS, FRAME_HEAD, PLAYER_HEAD, Field, Version, native, packed, recorded, size_of
from selfplay_melee.slp.start import CPU, HUMAN, PortStart, Start, write_end, write_start
from selfplay_melee.state import STOCKS, records

if TYPE_CHECKING:
    from selfplay_melee.slp.model import Replay

_Events = tuple[NDArray[np.void], NDArray[np.int64] | None]  # with the row of each; None: one in each row

PLAYED_ON: Final = "mock"
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


def encode(replay: Replay, started: datetime | None = None) -> bytes:
    """The whole file; ``started`` is written into the metadata, by default the time of the call.

    Raises:
        DoesNotFit: a number is too large for its field, or absent although the version records it.
    """
    version = replay.version
    ports = (replay.seats[0].port, replay.seats[1].port)
    start = write_start(_start(replay), version)
    end = write_end(replay.end, version, ports) if replay.end else b""
    stream = size_table(version, start) + start + join_events(_events(replay, ports), len(replay.pre)) + end
    return wrap(stream, _metadata(replay, started or datetime.now(UTC)))


def _start(replay: Replay) -> Start:
    stocks = replay.state.players["stocks"]
    ports = (
        PortStart(
            seat.port,
            seat.external_character,
            HUMAN if seat.human else CPU,
            int(stocks[0, i]) if len(stocks) else STOCKS,
            seat.costume,
            seat.name,
            ratios=seat.ratios,
            code=seat.code,
        )
        for i, seat in enumerate(replay.seats)
    )
    return Start(replay.external_stage, replay.pal, replay.frozen_stadium, tuple(ports))


def _events(replay: Replay, ports: tuple[int, int]) -> list[_Events]:
    """All events of frames, kinds in their order within a frame."""
    version = replay.version
    numbers = replay.state.game["frame"].astype(np.int64)
    heads = [{"frame": numbers, "port": np.asarray(port)} for port in ports]
    pre = [pack_events(layout.PRE_FRAME, version, heads[i], replay.pre[:, i]) for i in range(2)]
    post = [pack_events(layout.POST_FRAME, version, heads[i], replay.post[:, i]) for i in range(2)]
    opening = pack_events(layout.FRAME_START, version, {"frame": numbers}, replay.timing)
    bookend = pack_events(layout.FRAME_BOOKEND, version, {"frame": numbers}, replay.timing)
    in_frame = {
        layout.FOUNTAIN: _platform_changes(replay.fod_platforms),
        layout.WHISPY: _changes(native(layout.WHISPY_FIELDS), replay.whispy[:, None]),
        layout.STADIUM: _changes(native(layout.STADIUM_FIELDS), replay.stadium),
        layout.ITEM: (replay.items, replay.items["t"].astype(np.int64)),
    }
    known = known_events(version)
    middle = [
        (pack_events(command, version, {"frame": numbers[rows]}, columns), rows)
        for command, (columns, rows) in in_frame.items()
        if command in known
    ]
    return [
        *([(opening, None)] if layout.FRAME_START in known else []),
        *((events, None) for events in pre),
        *middle,
        *((events, None) for events in post),
        *([(bookend, None)] if layout.FRAME_BOOKEND in known else []),
    ]


def _changes(dtype: np.dtype[np.void], values: NDArray[np.integer]) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Events where known values [T, fields] change, and their rows."""
    rows = np.flatnonzero((values >= 0).all(axis=1) & _differs(values).any(axis=1))
    events = records(dtype, len(rows))
    for i, name in enumerate(dtype.names or ()):
        events[name] = values[rows, i]
    return events, rows


def _platform_changes(heights: NDArray[np.float32]) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    rows, platforms = np.nonzero(~np.isnan(heights) & _differs(heights))
    events = records(native(layout.FOUNTAIN_FIELDS), len(rows))
    events["platform"] = np.array([layout.LEFT_PLATFORM, layout.RIGHT_PLATFORM])[platforms]
    events["height"] = heights[rows, platforms]
    return events, rows


def _differs(values: NDArray[np.number]) -> NDArray[np.bool_]:
    """Where values [T, N] are not those of the row before; the first row differs."""
    differs = np.ones(values.shape, bool)
    differs[1:] = values[1:] != values[:-1]
    return differs


def _metadata(replay: Replay, started: datetime) -> Mapping[str, Value]:
    numbers = replay.state.game["frame"]
    players = []
    for i, seat in enumerate(replay.seats):
        characters, counts = np.unique(replay.state.players["character"][:, i], return_counts=True)
        frames = dict(zip(characters.tolist(), counts.tolist(), strict=True))
        players.append((seat.port, {"netplay": seat.name, "code": seat.code}, frames))
    return metadata(started, int(numbers[-1]) if len(numbers) else layout.FIRST_FRAME - 1, players)


def metadata(
    started: datetime, last_frame: int, players: Sequence[tuple[int, Mapping[str, str], Mapping[int, int]]]
) -> Mapping[str, Value]:
    """The metadata behind the events: each player's port, names by kind, and frames as each internal character."""
    described: dict[str, Value] = {}
    for port, named, frames in players:
        names: dict[str, Value] = {kind: name for kind, name in named.items() if name}
        used: dict[str, Value] = {str(character): count for character, count in frames.items()}
        described[str(port)] = {"names": names, "characters": used}
    return {
        "startAt": started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lastFrame": last_frame,
        "players": described,
        "playedOn": PLAYED_ON,
    }


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
