"""Which recording of each frame counts: the last whole one, which has the inputs and states of both players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp.layout import FIRST_FRAME

if TYPE_CHECKING:
    from envs.melee.slp.scan import Found


@dataclass(frozen=True, slots=True)
class Chosen:
    """The events that count, of T frames."""

    numbers: NDArray[np.int64]  # [T] frame numbers
    offsets: NDArray[np.int64]  # [T, PLACES] of the events of players, frame start and bookend; 0 not recorded
    rolled_back: NDArray[np.bool_]  # [T] the frame was recorded more than once
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    others: NDArray[np.int64]  # [N] offsets of the other events of those frames, in the order of frames
    rows: NDArray[np.int64]  # [N] their row, 0..T-1


def choose_recordings(found: Found) -> Chosen:
    """The recordings that count."""
    slots = found.numbers - FIRST_FRAME
    there = found.places >= 0
    played = slots[(there[:, 2] | there[:, 3])[found.shapes]]
    num_slots = int(played.max(initial=-1)) + 1
    possible = (slots >= 0) & (slots < num_slots)
    whole = np.flatnonzero(possible & np.logical_and.reduce(there[:, :4], axis=1)[found.shapes])
    kept = np.full(num_slots, -1)
    kept[slots[whole]] = whole  # of a frame that was recorded again, the last
    recorded = np.bincount(slots[possible], minlength=num_slots)
    frames = np.flatnonzero(kept >= 0)
    expected = recorded > 0
    if len(frames):  # a game of the mock has no countdown: frames before the first are not missing
        expected[frames[0] : frames[-1]] = True
    counting = kept[frames]
    offsets = np.where(there, found.places, -(1 << 60))[found.shapes[counting]] + found.begins[counting, None]
    others, rows = _others(found, counting)
    return Chosen(
        frames + FIRST_FRAME,
        np.maximum(offsets, 0),
        recorded[frames] > 1,
        np.flatnonzero(expected & (kept < 0)) + FIRST_FRAME,
        found.outside + int(found.events[found.shapes[~possible]].sum()),
        others,
        rows,
    )


def _others(found: Found, counting: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The other events of the recordings that count, and the rows of their frames, which rise."""
    rows = np.full(len(found.begins), -1)
    rows[counting] = np.arange(len(counting))
    rows = rows[found.begins.searchsorted(found.others, "right") - 1]
    others, rows = found.others[rows >= 0], rows[rows >= 0]
    order = np.argsort(rows, kind="stable")  # frames that were recorded again
    return others[order], rows[order]
