"""The one pass over all events of a replay file, compiled: which event counts, and where it stands.

A frame of a netplay game may be recorded several times; each time is a *recording* of the frame. A recording is
whole when it has the pre-frame and the post-frame event of both players, and the last whole one counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.physics.compile import compiled, rule

MAX_FRAMES: Final = 1 << 19  # more than two hours of play
GAPS: Final = 4  # frame numbers beyond so many times the recorded frames, and some, are taken for damage

# What the scan does with an event.
SKIPPED, PLAYER_BEFORE, PLAYER_AFTER, IN_FRAME, OPENS_FRAME = range(5)

# Columns of what ``choose_events`` gives as ``others``.
OFFSET, SLOT, RECORDING = range(3)


@rule
def _frame(data: NDArray[np.uint8], position: int) -> int:
    value = 0
    for i in range(1, 5):
        value = value << 8 | int(data[position + i])
    return value - (1 << 32) if value >= 1 << 31 else value


@rule
def _place(data: NDArray[np.uint8], position: int, ports: NDArray[np.uint8], kind: int) -> int:
    """Column of ``chosen`` for a player's event, -1 for a follower or somebody who has no seat."""
    if data[position + 6] != 0:
        return -1
    for seat in range(2):
        if data[position + 5] == ports[seat]:
            return seat + (2 if kind == PLAYER_AFTER else 0)
    return -1


@compiled
def count_events(
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    sizes: NDArray[np.int32],  # [256] bytes after the command byte, -1 not declared
    counts: NDArray[np.int64],  # [256] out: events of each command
    latest: NDArray[np.int64],  # [256] out: offset of the last event of each command
) -> int:
    """Count the events in data[begin:end]; the offset behind the last whole one."""
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
def last_frame(
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    sizes: NDArray[np.int32],
    kinds: NDArray[np.uint8],  # [256] what the scan does with the events of a command
    first: int,
    limit: int,
) -> int:
    """The greatest frame number in first..limit-1 of a post-frame event, first - 1 if there is none.

    data[begin:end] are whole events, as ``count_events`` found them, and those of a kind that is not skipped have
    at least seven bytes.
    """
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
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    sizes: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    ports: NDArray[np.uint8],  # [2] of the seats
    first: int,
    chosen: NDArray[np.int64],  # [S, 4] out: offsets of pre 0, pre 1, post 0, post 1 of slot s, frame first + s
    recordings: NDArray[np.int32],  # [S] out: how often the frame was recorded
    kept: NDArray[np.int32],  # [S] out: which recording counts, from 1; 0 none is whole
    others: NDArray[np.int64],  # [N, 3] out: OFFSET, SLOT, RECORDING of the other events of frames
) -> tuple[int, int]:
    """Choose the events that count; the number of rows of ``others``, and of events outside the slots."""
    pending = chosen[chosen.shape[0] - 1]  # the last row is scratch
    slots = chosen.shape[0] - 1
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
                    recordings[slot] += 1
                    pending[:] = 0
                if place >= 0:
                    pending[place] = position
                    if pending[0] > 0 and pending[1] > 0 and pending[2] > 0 and pending[3] > 0:
                        for i in range(4):
                            chosen[slot, i] = pending[i]
                        kept[slot] = recordings[slot]
                elif kind >= IN_FRAME:
                    others[num_others, OFFSET] = position
                    others[num_others, SLOT] = slot
                    others[num_others, RECORDING] = recordings[slot]
                    num_others += 1
            else:
                outside += 1
        position += 1 + sizes[command]
    return num_others, outside
