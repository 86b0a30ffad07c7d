"""Where the events of a replay file begin.

Only its first byte says how long an event is, so the place of one follows from those before it. Frames are found all
at once: every place that looks like the start of a frame is followed, event by event, to the next such place, and
the places are kept that are reached from the first event. The result is that of following all events in order,
whatever the file contains; what is not found at once is followed one by one.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp.layout import FRAME_START, PRE_FRAME

LONGEST_FRAME: Final = 64  # events of a frame that are followed at once
CHUNK: Final = 1 << 18  # bytes that are searched at once: they and the result stay in the cache


class Events(NamedTuple):
    """The whole events of a replay file."""

    offsets: NDArray[np.int64]  # [N] of their command bytes, rising
    commands: NDArray[np.uint8]  # [N]
    end: int  # offset behind the last one


class _Stream(NamedTuple):
    """Where events are looked for. A place is a *mark* if a frame may begin there, and if it is ``end`` or behind."""

    content: NDArray[np.uint8]  # the whole file
    begin: int
    end: int
    steps: NDArray[np.int64]  # [256] bytes of each event; beyond the end if its size is not declared
    opening: int  # command that begins a frame, if a pre-frame event is behind it


class _Frames(NamedTuple):
    """The F marks before the end, and the events from each to the next mark."""

    starts: NDArray[np.int64]  # [F]
    links: NDArray[np.int64]  # [F] offset behind the events
    breaks: NDArray[np.int64]  # those whose link is not the next start, and the last
    first: NDArray[np.int64]  # [F + 1] row of the first event of each in ``offsets``
    offsets: NDArray[np.int64]


def find_events(data: bytes, begin: int, end: int, sizes: NDArray[np.int32]) -> Events:
    """All whole events in ``data[begin:end]``, up to the first that has no declared size or is not whole.

    ``sizes`` [256]: bytes after each command byte, -1 not declared.
    """
    steps = np.where(sizes < 0, end + 1, 1 + sizes.astype(np.int64))
    opening = FRAME_START if sizes[FRAME_START] >= 0 else PRE_FRAME  # there is no frame start before version 2.2
    stream = _Stream(np.frombuffer(data, np.uint8), begin, end, steps, opening)
    frames = _follow(stream)
    pieces = [np.empty(0, np.int64)]
    at = begin
    while at < end:
        piece, at = _walk(data, stream, at)
        pieces.append(piece)
        if at < end:
            last = int(frames.breaks[frames.breaks.searchsorted(first := int(frames.starts.searchsorted(at)))])
            pieces.append(frames.offsets[frames.first[first] : frames.first[last + 1]])
            at = int(frames.links[last])
    offsets = np.concatenate(pieces)
    if at > end:  # the last one is not whole
        offsets, at = offsets[:-1], int(offsets[-1])
    return Events(offsets, stream.content[offsets], at)


def _starts(stream: _Stream) -> NDArray[np.int64]:
    """All marks before the end."""
    content, step = stream.content, int(stream.steps[stream.opening])
    found = [np.empty(0, np.int64)]
    for begin in range(stream.begin, stream.end - step, CHUNK):
        there = content[begin : min(begin + CHUNK, stream.end - step)] == stream.opening
        places = np.flatnonzero(there) + begin
        found.append(places[content[places + step] == PRE_FRAME])
    return np.concatenate(found)


def _follow(stream: _Stream) -> _Frames:
    """Follow the events from all marks to the next; a link of ``end + 1`` is behind an event that is not whole."""
    content, _, end, steps, opening = stream
    starts = _starts(stream)
    links, lengths = starts.copy(), np.zeros(len(starts), np.int64)
    which, at, commands = np.arange(len(starts)), starts, content[starts]
    visited = []
    while len(which) and len(visited) < LONGEST_FRAME:
        visited.append((which, at))
        at = np.minimum(at + steps[commands], end + 1)
        commands = content.take(at, mode="clip")
        going = (commands != opening) & (at < end)
        if not going.all():
            maybe = np.flatnonzero(~going)
            behind = content.take(at[maybe] + steps[opening], mode="clip")
            going[maybe] = (behind != PRE_FRAME) & (at[maybe] < end)
            landed = which[~going]
            links[landed], lengths[landed] = at[~going], len(visited)
            which, at, commands = which[going], at[going], commands[going]
    links[which], lengths[which] = at, len(visited)
    first = np.concatenate([[0], np.cumsum(lengths)])
    offsets = np.empty(first[-1], np.int64)
    for step, (seen, places) in enumerate(visited):
        offsets[first[seen] + step] = places
    breaks = np.flatnonzero(np.append(links[:-1] != starts[1:], True))
    return _Frames(starts, links, breaks, first, offsets)


def _walk(data: bytes, stream: _Stream, at: int) -> tuple[NDArray[np.int64], int]:
    """Follow the events one by one to the next mark: their offsets, and the mark."""
    found, end, steps, opening = array("q"), stream.end, stream.steps.tolist(), stream.opening
    while at < end:
        command = data[at]
        behind = at + steps[command]
        if command == opening and behind < end and data[behind] == PRE_FRAME:
            break
        found.append(at)
        at = min(behind, end + 1)
    return np.frombuffer(found, np.int64), at
