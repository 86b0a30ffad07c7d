"""Finds the recordings of frames in a replay file.

A frame of a netplay game may be recorded several times; each time is a *recording* of the frame. A recording begins
with a frame start (before version 2.2 with the pre-frame event of the lower port), and wherever the frame number
changes.

Only its first byte says how long an event is, so events are followed one by one. That is done for a few recordings of
each length; all others of that length are compared with them at once, and only those that differ are followed too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.slp.layout import (
    EVENTS,
    FIRST_FRAME,
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    POST_FRAME,
    PRE_FRAME,
    size_of,
)

PLACES: Final = 6  # of events in a recording: pre 0, pre 1, post 0, post 1, frame start, bookend
MAX_FRAMES: Final = 1 << 19  # more than two hours of play
GAPS: Final = 4  # frame numbers far beyond this multiple of the states that fit into the file are damage
LONGEST: Final = 1 << 13  # bytes of a recording that is compared
ALIKE: Final = 4  # recordings of one length that are worth a comparison
TRIES: Final = 8  # recordings of one length that others are compared with
CHUNK: Final = 1 << 18  # bytes that are searched at once: they and the result stay in the cache

# Bytes behind the command byte in the first version that has the event.
SMALLEST: Final = {command: size_of(fields, min(f.since for f in fields)) for command, fields in EVENTS.items()}

# The first eight bytes of an event as a little-endian number: the command, the frame number, port and follower.
_COMMAND, _NUMBER, _PLAYER = 0xFF, 0xFFFFFFFF << 8, 0xFFFF << 40


class Stream(NamedTuple):
    """The events of a replay file."""

    data: bytes  # the whole file
    begin: int  # offset of the first event
    end: int  # offset behind the last one
    steps: list[int]  # [256] bytes of each event; beyond the end if its size is not declared
    framed: frozenset[int]  # commands of events of a frame that are long enough to be read
    ports: tuple[int, int]  # of the seats, lower port first
    opening: int  # command that begins a recording
    limit: int  # of frame numbers, from the first frame; greater ones are damage


@dataclass(slots=True)
class Found:
    """R recordings in the order of the file, and N events of frames that have no place in them."""

    begins: NDArray[np.int64]  # [R] offset of the first event
    numbers: NDArray[np.int64]  # [R] of the frames
    shapes: NDArray[np.int64]  # [R] which of S
    places: NDArray[np.int64]  # [S, PLACES] offsets from the first event, -1 not recorded
    events: NDArray[np.int64]  # [S] how many
    others: NDArray[np.int64]  # [N] offsets, rising
    counts: NDArray[np.int64]  # [256] of the events of each command
    outside: int  # events with an impossible frame number, outside of recordings
    game_end: int  # offset of the last game end event, 0 there is none
    end: int  # offset behind the last whole event


@dataclass(slots=True)
class _Followed:
    """Events that were followed one by one; see ``Found``."""

    recordings: list[list[int]] = field(default_factory=list)  # begin, number, events, *places
    others: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0] * 256)
    outside: int = 0
    game_end: int = 0


def stream_of(data: bytes, begin: int, end: int, sizes: NDArray[np.int32], ports: tuple[int, int]) -> Stream:
    """The events in ``data[begin:end]``; ``sizes`` [256]: bytes after each command byte, -1 not declared."""
    steps = np.where(sizes < 0, end + 1, 1 + sizes.astype(np.int64)).tolist()
    framed = frozenset(command for command, smallest in SMALLEST.items() if sizes[command] >= smallest)
    limit = min(MAX_FRAMES, 1024 + GAPS * ((end - begin) // (steps[PRE_FRAME] + steps[POST_FRAME])))
    return Stream(data, begin, end, steps, framed, ports, FRAME_START if FRAME_START in framed else PRE_FRAME, limit)


def find_recordings(stream: Stream) -> Found:
    """All recordings, up to the first event that has no declared size or is not whole."""
    starts = _starts(stream)
    shapes, models = _compare(stream, starts)
    reached = np.zeros(len(starts), bool)
    strange = np.flatnonzero(shapes < 0)  # the last start is one of them

    def is_known(at: int) -> bool:
        row = int(starts.searchsorted(at))
        return row < len(starts) and bool(starts[row] == at and shapes[row] >= 0)

    followed = _Followed()
    at = _follow(stream, stream.begin, is_known, followed)
    while at < stream.end and is_known(at):
        first = int(starts.searchsorted(at))
        behind = int(strange[strange.searchsorted(first)])
        reached[first:behind] = True
        at = _follow(stream, int(starts[behind]), is_known, followed)
    return _joined(stream, starts[reached], shapes[reached], models, followed, at)


def _starts(stream: Stream) -> NDArray[np.int64]:
    """Offsets that look like the start of a recording. What is not found here is followed."""
    content, step = np.frombuffer(stream.data, np.uint8), stream.steps[stream.opening]
    end = min(stream.end - step, len(content) - 8)
    found = [np.empty(0, np.int64)]
    for begin in range(stream.begin, end, CHUNK):
        places = np.flatnonzero(content[begin : min(begin + CHUNK, end)] == stream.opening) + begin
        places = places[content[places + step] == PRE_FRAME]
        if stream.opening == PRE_FRAME:
            places = places[(content[places + 5] == stream.ports[0]) & (content[places + 6] == 0)]
        found.append(places)
    return np.concatenate(found)


def _compare(stream: Stream, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[_Followed]]:
    """Which recordings, from one start to the next, are like which model; -1 like none."""
    shapes = np.full(len(starts), -1)
    models: list[_Followed] = []
    lengths = np.minimum(np.diff(starts), LONGEST)
    for length in np.flatnonzero(np.bincount(lengths)[:LONGEST] >= ALIKE).tolist():
        rows = np.flatnonzero(lengths == length)
        for _ in range(TRIES):
            if len(rows) < ALIKE:
                break
            model = _model(stream, int(starts[rows[0]]), length)
            same = np.arange(len(rows)) == 0
            if model:
                same = _same(stream, starts[rows], length)
                shapes[rows[same]] = len(models)
                models.append(model)
            rows = rows[~same]
    return shapes, models


def _model(stream: Stream, start: int, length: int) -> _Followed | None:
    """The one recording from ``start``, if it ends after ``length`` bytes."""
    model = _Followed()
    end = _follow(stream, start, lambda at: at >= start + length, model)
    if end != start + length or len(model.recordings) != 1 or model.outside or model.game_end:
        return None
    return model


def _same(stream: Stream, starts: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Which have the events of the first one: commands, ports, and throughout the frame number of their start."""
    words: NDArray[np.uint64] = np.ndarray((len(stream.data) - 7,), "<u8", stream.data, 0, (1,))
    numbers = words[starts] & _NUMBER
    same = np.ones(len(starts), bool)
    at = first = int(starts[0])
    while at < first + length:
        word = int(words[at])
        command = word & _COMMAND
        mask = _COMMAND | (_PLAYER if command in (PRE_FRAME, POST_FRAME) else 0)
        if command in stream.framed:
            same &= words[starts + (at - first)] & (mask | _NUMBER) == numbers | (word & mask)
        else:
            same &= words[starts + (at - first)] & mask == word & mask
        at += stream.steps[command]
    return same


def _follow(stream: Stream, at: int, stop: Callable[[int], bool], found: _Followed) -> int:
    """Follow the events to an opening at which to stop, or to one that is not whole; its offset."""
    recording: list[int] | None = None
    while at < stream.end:
        command = stream.data[at]
        if command == stream.opening and stop(at):
            break
        behind = at + stream.steps[command]
        if behind > stream.end:
            break
        found.counts[command] += 1
        if command in stream.framed:
            recording = _add(stream, at, command, recording, found)
        elif command == GAME_END:
            found.game_end = at
        at = behind
    return at


def _add(stream: Stream, at: int, command: int, recording: list[int] | None, found: _Followed) -> list[int] | None:
    """Add an event of a frame; the recording that it belongs to."""
    number = int.from_bytes(stream.data[at + 1 : at + 5], "big", signed=True)
    if not 0 <= number - FIRST_FRAME < stream.limit:
        found.outside += 1
        return recording
    place = _place(stream, at, command)
    opens = place == (4 if stream.opening == FRAME_START else 0)
    if recording is None or opens or number != recording[1]:
        recording = [at, number, 0, *[-1] * PLACES]
        found.recordings.append(recording)
    recording[2] += 1
    if place is not None:
        recording[3 + place] = at - recording[0]
    elif command not in (PRE_FRAME, POST_FRAME):
        found.others.append(at)
    return recording


def _place(stream: Stream, at: int, command: int) -> int | None:
    """Where an event belongs in its recording; None for an item, a part of the stage, a follower or another port."""
    if command in (FRAME_START, FRAME_BOOKEND):
        return 4 if command == FRAME_START else 5
    if command in (PRE_FRAME, POST_FRAME) and stream.data[at + 6] == 0 and stream.data[at + 5] in stream.ports:
        return stream.ports.index(stream.data[at + 5]) + (2 if command == POST_FRAME else 0)
    return None


def _joined(
    stream: Stream,
    begins: NDArray[np.int64],
    shapes: NDArray[np.int64],
    models: list[_Followed],
    followed: _Followed,
    end: int,
) -> Found:
    """The recordings that are like models and those that were followed, in order."""
    others, counts = [np.array(followed.others, np.int64)], np.array(followed.counts)
    for shape, (model, count) in enumerate(zip(models, np.bincount(shapes, minlength=len(models)), strict=True)):
        counts += np.array(model.counts) * count
        if model.others:
            alike = begins[shapes == shape]
            others += [alike + (other - model.recordings[0][0]) for other in model.others]
    numbers = np.frombuffer(stream.data, np.uint8)[begins[:, None] + np.arange(1, 5)].view(">i4")[:, 0]
    recordings = [model.recordings[0] for model in models] + followed.recordings
    table = np.array(recordings, np.int64).reshape(-1, 3 + PLACES)
    more = table[len(models) :]
    begins, numbers = np.concatenate([begins, more[:, 0]]), np.concatenate([numbers, more[:, 1]])
    shapes = np.concatenate([shapes, np.arange(len(models), len(table))])
    if (np.diff(begins) < 0).any():
        order = np.argsort(begins, kind="stable")
        begins, numbers, shapes = begins[order], numbers[order], shapes[order]
    return Found(
        begins,
        numbers,
        shapes,
        table[:, 3:],
        table[:, 2],
        np.sort(np.concatenate(others)),
        counts,
        followed.outside,
        followed.game_end,
        end,
    )
