"""Which events of a replay file count.

A frame of a netplay game may be recorded several times; each time is a *recording* of the frame. A recording is
whole when it has the pre-frame and the post-frame event of both players, and the last whole one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp import layout
from envs.melee.slp.layout import EVENTS

if TYPE_CHECKING:
    from envs.melee.slp.stream import Opened

MAX_FRAMES: Final = 1 << 19  # more than two hours of play
GAPS: Final = 4  # frame numbers far beyond this multiple of the recorded frames count as damage


@dataclass(frozen=True, slots=True)
class Chosen:
    """The events that count, of T frames."""

    numbers: NDArray[np.int64]  # [T] frame numbers
    offsets: NDArray[np.int64]  # [T, 4] pre 0, pre 1, post 0, post 1
    rolled_back: NDArray[np.bool_]  # [T] the frame was recorded more than once
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    others: NDArray[np.int64]  # [N] offsets of the other events of those frames, in the order of frames
    commands: NDArray[np.uint8]  # [N] of those
    rows: NDArray[np.int64]  # [N] their row, 0..T-1


@dataclass(frozen=True, slots=True)
class _Events:
    """N events of frames, in the order of the file."""

    offsets: NDArray[np.int64]
    commands: NDArray[np.uint8]
    slots: NDArray[np.int64]  # the number of the frame, from the first

    def where(self, which: NDArray[np.bool_]) -> _Events:
        return _Events(self.offsets[which], self.commands[which], self.slots[which])


def choose_events(opened: Opened) -> Chosen:
    """The events of the last whole recording of each frame."""
    events, num_slots, outside = _of_frames(opened)
    of_players = (events.commands == layout.PRE_FRAME) | (events.commands == layout.POST_FRAME)
    players = np.flatnonzero(of_players)
    seats = _seats(opened, events.offsets[players])
    players, seats = players[seats >= 0], seats[seats >= 0]
    places = seats + 2 * (events.commands[players] == layout.POST_FRAME)
    begins = _begins(events, players, places)
    recording = np.cumsum(begins) - 1
    slots = events.slots[begins]  # of each recording
    offsets = np.zeros((len(slots), 4), np.int64)
    offsets[recording[players], places] = events.offsets[players]  # of an event that is there twice, the last
    whole = np.flatnonzero(offsets.all(axis=1))
    kept = np.full(num_slots, -1)
    kept[slots[whole]] = whole  # of a frame that was recorded again, the last
    recorded = np.bincount(slots, minlength=num_slots)
    numbers = np.flatnonzero(kept >= 0)
    expected = recorded > 0
    if len(numbers):  # a game of the mock has no countdown: frames before the first are not missing
        expected[numbers[0] : numbers[-1]] = True
    others = events.where((recording == kept[events.slots]) & ~of_players)
    order = np.argsort(others.slots, kind="stable")  # frames that were recorded again
    rows = np.cumsum(kept >= 0) - 1
    return Chosen(
        numbers + layout.FIRST_FRAME,
        offsets[kept[numbers]],
        recorded[numbers] > 1,
        np.flatnonzero(expected & (kept < 0)) + layout.FIRST_FRAME,
        outside,
        others.offsets[order],
        others.commands[order],
        rows[others.slots[order]],
    )


def _of_frames(opened: Opened) -> tuple[_Events, int, int]:
    """The events of frames, the number of frames up to the last, and how many events have an impossible number."""
    known = np.zeros(256, bool)
    for command, fields in EVENTS.items():
        known[command] = opened.sizes[command] >= layout.smallest(fields)
    which = known[opened.events.commands]
    offsets, commands = opened.events.offsets[which], opened.events.commands[which]
    events = _Events(offsets, commands, _numbers(opened.data, offsets, ">i4", 1) - layout.FIRST_FRAME)
    after = events.slots[commands == layout.POST_FRAME]
    limit = min(MAX_FRAMES, 1024 + GAPS * len(after))
    num_slots = int(after[after < limit].max(initial=-1)) + 1
    possible = (events.slots >= 0) & (events.slots < num_slots)
    outside = len(possible) - int(np.count_nonzero(possible))
    return events.where(possible) if outside else events, num_slots, outside


def _numbers(data: bytes, offsets: NDArray[np.int64], dtype: str, field: int) -> NDArray[np.int64]:
    """The whole numbers at byte ``field`` of the events at these offsets."""
    count = len(data) - field - np.dtype(dtype).itemsize + 1
    everywhere: NDArray[np.int64] = np.ndarray((max(count, 0),), dtype, data, field, (1,))
    return everywhere[offsets].astype(np.int64)


def _seats(opened: Opened, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The seats of players' events; -1 for a follower or a player without a seat."""
    port_and_follower = _numbers(opened.data, offsets, ">u2", 5)
    first, second = opened.ports
    return np.where(port_and_follower == first << 8, 0, np.where(port_and_follower == second << 8, 1, -1))


def _begins(events: _Events, players: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which events begin a recording: the first, a frame start, one of another frame than the event before, and a
    pre-frame event of a player whose previous one is in the same recording."""
    begins = events.commands == layout.FRAME_START
    begins[:1] = True
    begins[1:] |= events.slots[1:] != events.slots[:-1]
    before = players[places < 2]
    runs, seats = np.cumsum(begins)[before], places[places < 2]
    if (np.diff(2 * runs + seats) <= 0).any():
        present, current = 0, -1
        for event, run, seat in zip(before.tolist(), runs.tolist(), seats.tolist(), strict=True):
            again = run == current and bool(present >> seat & 1)
            begins[event] |= again
            present = 1 << seat | (0 if again or run != current else present)
            current = run
    return begins
