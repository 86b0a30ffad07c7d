"""One compiled pass over the events of a replay file, which finds the events that count.

A frame of a netplay game may be recorded several times; each time is a *recording* of the frame. A recording is
whole when it has the pre-frame and the post-frame event of both players, and the last whole one counts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule

MAX_FRAMES: Final = 1 << 19  # more than two hours of play
GAPS: Final = 4  # frame numbers far beyond this multiple of the recorded frames count as damage

# What the scan does with an event.
SKIPPED, PLAYER_BEFORE, PLAYER_AFTER, IN_FRAME, OPENS_FRAME = range(5)

# Columns of ``Choice.others``.
OFFSET, SLOT, RECORDING = range(3)


class Events(NamedTuple):
    """The events of a replay file."""

    data: NDArray[np.uint8]  # the whole file
    begin: int  # offset of the first event
    end: int  # offset behind the last one
    sizes: NDArray[np.int32]  # [256] bytes after each command byte, -1 not declared


class Choice(NamedTuple):
    """Which events count. S slots, slot s is frame ``first + s``; N other events of frames."""

    offsets: NDArray[np.int64]  # [S + 1, 4] of pre 0, pre 1, post 0, post 1; the last row is scratch
    recordings: NDArray[np.int32]  # [S] how often the frame was recorded
    kept: NDArray[np.int32]  # [S] which recording counts, from 1; 0 none is whole
    others: NDArray[np.int64]  # [N, 3] OFFSET, SLOT, RECORDING of the other events of frames


@rule
def _frame(data: NDArray[np.uint8], position: int) -> int:
    value = 0
    for i in range(1, 5):
        value = value << 8 | int(data[position + i])
    return value - (1 << 32) if value >= 1 << 31 else value


@rule
def _place(data: NDArray[np.uint8], position: int, ports: NDArray[np.uint8], kind: int) -> int:
    """Column of ``Choice.offsets`` for a player's event, -1 for a follower or a player without a seat."""
    if data[position + 6] != 0:
        return -1
    for seat in range(2):
        if data[position + 5] == ports[seat]:
            return seat + (2 if kind == PLAYER_AFTER else 0)
    return -1


@compiled
def count_events(events: Events, counts: NDArray[np.int64], latest: NDArray[np.int64]) -> int:
    """Count the events; the offset behind the last whole one.

    Args:
        events: What the file declares.
        counts: [256] out: events of each command.
        latest: [256] out: offset of the last event of each command.
    """
    data, begin, end, sizes = events
    position = begin
    while position < end:
        command = data[position]
        size = sizes[command]
        if size < 0 or size >= end - position:
            break
        counts[command] += 1
        latest[command] = position
        position += 1 + size
    return position


@compiled
def last_frame(events: Events, kinds: NDArray[np.uint8], first: int, limit: int) -> int:
    """The greatest frame number in first..limit-1 of a post-frame event, first - 1 if there is none.

    The events are whole, as ``count_events`` found them, and those of a kind that is not skipped have at least seven
    bytes. ``kinds`` [256]: what the scan does with the events of a command.
    """
    data, begin, end, sizes = events
    greatest = first - 1
    position = begin
    while position < end:
        command = data[position]
        if kinds[command] == PLAYER_AFTER:
            frame = _frame(data, position)
            if greatest < frame < limit:
                greatest = frame
        position += 1 + sizes[command]
    return greatest


@compiled
def choose_events(
    events: Events, kinds: NDArray[np.uint8], ports: NDArray[np.uint8], first: int, choice: Choice
) -> tuple[int, int]:
    """Fill ``choice``; the number of rows of ``choice.others``, and of events outside the slots.

    Args:
        events: See ``last_frame``.
        kinds: See ``last_frame``.
        ports: [2] of the seats.
        first: Frame number of slot 0.
        choice: Zeroed.
    """
    data, begin, end, sizes = events
    slots = len(choice.recordings)
    pending = choice.offsets[slots]
    slot = -1
    num_others, outside = 0, 0
    position = begin
    while position < end:
        command = data[position]
        kind = kinds[command]
        if kind != SKIPPED:
            at = _frame(data, position) - first
            if 0 <= at < slots:
                place = -1
                if kind in (PLAYER_BEFORE, PLAYER_AFTER):
                    place = _place(data, position, ports, kind)
                if at != slot or kind == OPENS_FRAME or (kind == PLAYER_BEFORE and place >= 0 and pending[place] > 0):
                    slot = at
                    choice.recordings[slot] += 1
                    pending[:] = 0
                if place >= 0:
                    _take(position, place, slot, pending, choice)
                elif kind >= IN_FRAME:
                    choice.others[num_others, OFFSET] = position
                    choice.others[num_others, SLOT] = slot
                    choice.others[num_others, RECORDING] = choice.recordings[slot]
                    num_others += 1
            else:
                outside += 1
        position += 1 + sizes[command]
    return num_others, outside


@rule
def _take(position: int, place: int, slot: int, pending: NDArray[np.int64], choice: Choice) -> None:
    """Store a player's event; a recording that is now whole replaces the previous one."""
    pending[place] = position
    if pending[0] > 0 and pending[1] > 0 and pending[2] > 0 and pending[3] > 0:
        for i in range(4):
            choice.offsets[slot, i] = pending[i]
        choice.kept[slot] = choice.recordings[slot]
