"""A replay as the bytes of a .slp file of its version, with only the fields that the version records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp import layout
from envs.melee.slp.layout import FOUNTAIN_FIELDS, STADIUM_FIELDS, WHISPY_FIELDS, native
from envs.melee.slp.start import CPU, HUMAN, PortStart, Start, write_end, write_start
from envs.melee.slp.write import join_events, known_events, pack_events, size_table, wrap
from envs.melee.state import STOCKS, records

if TYPE_CHECKING:
    from envs.melee.slp.container import Value
    from envs.melee.slp.model import Replay

_Events = tuple[NDArray[np.void], NDArray[np.int64] | None]  # with the row of each; None: one in each row

PLAYED_ON: Final = "mock"


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
        layout.WHISPY: _changes(native(WHISPY_FIELDS), replay.whispy[:, None]),
        layout.STADIUM: _changes(native(STADIUM_FIELDS), replay.stadium),
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
    events = records(native(FOUNTAIN_FIELDS), len(rows))
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
    used = []
    for i in range(len(replay.seats)):
        characters, counts = np.unique(replay.state.players["character"][:, i], return_counts=True)
        used.append(dict(zip(characters.tolist(), counts.tolist(), strict=True)))
    return metadata(
        started,
        int(numbers[-1]) if len(numbers) else layout.FIRST_FRAME - 1,
        [
            (seat.port, {"netplay": seat.name, "code": seat.code}, frames)
            for seat, frames in zip(replay.seats, used, strict=True)
        ],
    )


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
