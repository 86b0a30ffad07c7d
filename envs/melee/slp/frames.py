"""All frames of an opened file, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp import layout, scan
from envs.melee.slp.columns import (
    Source,
    absent_players,
    carried_forward,
    controller_columns,
    names,
    player_columns,
)
from envs.melee.slp.layout import EVENTS, native
from envs.melee.state import records

if TYPE_CHECKING:
    from envs.melee.slp.stream import Opened

_OTHERS: Final = tuple(command for command in EVENTS if command not in (layout.PRE_FRAME, layout.POST_FRAME))
"""Events of a frame that belong to no player."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Columns over T frames; see ``Replay``."""

    numbers: NDArray[np.int64]  # [T]
    players: NDArray[np.void]  # PLAYER [T, 2]
    controllers: NDArray[np.void]  # CONTROLLER [T, 2]
    pre: NDArray[np.void]  # [T, 2]
    post: NDArray[np.void]  # [T, 2]
    items: NDArray[np.void]  # [K]
    timing: NDArray[np.void]  # [T]
    fod_platforms: NDArray[np.float32]  # [T, 2]
    whispy: NDArray[np.int16]  # [T]
    stadium: NDArray[np.int32]  # [T, 2]
    rolled_back: NDArray[np.bool_]  # [T]
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    absent: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which events count."""

    numbers: NDArray[np.int64]  # [T] frame numbers
    offsets: NDArray[np.int64]  # [T, 4] pre 0, pre 1, post 0, post 1
    rolled_back: NDArray[np.bool_]  # [T]
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    others: NDArray[np.int64]  # [N] offsets of the other events of those frames, in the order of frames
    rows: NDArray[np.int64]  # [N] their row, 0..T-1


def read_frames(opened: Opened) -> Frames:
    """Choose the events that count and turn them into columns."""
    with np.errstate(invalid="ignore"):  # a damaged float may be a signalling NaN
        return _columns(opened, _choose(opened))


def _columns(opened: Opened, chosen: _Chosen) -> Frames:
    pre, post = _source(opened, layout.PRE_FRAME), _source(opened, layout.POST_FRAME)
    pre_columns = pre.columns(pre.events(chosen.offsets[:, :2]))
    post_columns = post.columns(post.events(chosen.offsets[:, 2:]))
    items, absent_items = _items(opened, chosen)
    timing, absent_timing = _timing(opened, chosen)
    fod_platforms, whispy, stadium, absent_stage = _stage(opened, chosen)
    absent = names("players", absent_players(post.absent())) | names("pre", pre.absent())
    return Frames(
        chosen.numbers,
        player_columns(post_columns, post.absent()),
        controller_columns(pre_columns),
        pre_columns,
        post_columns,
        items,
        timing,
        fod_platforms,
        whispy,
        stadium,
        chosen.rolled_back,
        chosen.missing,
        chosen.outside,
        absent | names("post", post.absent()) | absent_items | absent_timing | absent_stage,
    )


def _choose(opened: Opened) -> _Chosen:
    kinds = np.zeros(256, np.uint8)
    kinds[layout.PRE_FRAME], kinds[layout.POST_FRAME] = scan.PLAYER_BEFORE, scan.PLAYER_AFTER
    for command in _OTHERS:
        if opened.sizes[command] >= layout.smallest(EVENTS[command]):
            kinds[command] = scan.OPENS_FRAME if command == layout.FRAME_START else scan.IN_FRAME
    events = scan.Events(opened.array, opened.first, opened.whole, opened.sizes)
    first = layout.FIRST_FRAME
    limit = min(scan.MAX_FRAMES, 1024 + scan.GAPS * int(opened.counts[layout.POST_FRAME]))
    slots = int(scan.last_frame(events, kinds, first, first + limit)) - first + 1
    choice = scan.Choice(
        offsets=np.zeros((slots + 1, 4), np.int64),
        recordings=np.zeros(slots, np.int32),
        kept=np.zeros(slots, np.int32),
        others=np.empty((int(opened.counts[list(_OTHERS)].sum()), 3), np.int64),
    )
    num_others, outside = scan.choose_events(events, kinds, np.array(opened.ports, np.uint8), first, choice)
    others, kept = choice.others[:num_others], choice.kept
    others = others[others[:, scan.RECORDING] == kept[others[:, scan.SLOT]]]
    if (np.diff(others[:, scan.SLOT]) < 0).any():  # frames that were recorded again
        others = others[np.argsort(others[:, scan.SLOT], kind="stable")]
    whole = kept > 0
    numbers = np.flatnonzero(whole)
    expected = choice.recordings > 0
    if len(numbers):  # a game of the mock has no countdown: frames before the first are not missing
        expected[numbers[0] : numbers[-1]] = True
    return _Chosen(
        numbers + first,
        choice.offsets[:-1][whole],
        choice.recordings[whole] > 1,
        np.flatnonzero(expected & ~whole) + first,
        int(outside),
        others[:, scan.OFFSET],
        (np.cumsum(whole) - 1)[others[:, scan.SLOT]],
    )


def _source(opened: Opened, command: int) -> Source:
    return Source(opened.data, opened.version, int(opened.sizes[command]), tuple(EVENTS[command]))


def _others(opened: Opened, chosen: _Chosen, command: int) -> tuple[Source, NDArray[np.void], NDArray[np.int64]]:
    """The events of one command that belong to no player, and their rows."""
    source = _source(opened, command)
    which = opened.array[chosen.others] == command
    return source, source.events(chosen.others[which]), chosen.rows[which]


def _items(opened: Opened, chosen: _Chosen) -> tuple[NDArray[np.void], frozenset[str]]:
    source, events, rows = _others(opened, chosen, layout.ITEM)
    items = source.columns(events, ("t", "i4"))
    items["t"] = rows
    return items, names("items", source.absent())


def _timing(opened: Opened, chosen: _Chosen) -> tuple[NDArray[np.void], frozenset[str]]:
    timing = records(native(layout.TIMING_FIELDS), len(chosen.numbers))
    absent: frozenset[str] = frozenset()
    for command in (layout.FRAME_START, layout.FRAME_BOOKEND):
        source, events, rows = _others(opened, chosen, command)
        for f in source.fields:
            timing[f.name] = -1
        for f in source.recorded():
            timing[f.name][rows] = events[f.name]
        absent |= names("timing", source.absent())
    return timing, absent


def _stage(
    opened: Opened, chosen: _Chosen
) -> tuple[NDArray[np.float32], NDArray[np.int16], NDArray[np.int32], frozenset[str]]:
    """Moving parts of the stage, recorded when they change and carried forward, and names of those not recorded."""
    count = len(chosen.numbers)
    fountain, events, rows = _others(opened, chosen, layout.FOUNTAIN)
    heights = []
    for platform in (layout.LEFT_PLATFORM, layout.RIGHT_PLATFORM):
        which = events["platform"] == platform
        heights.append(carried_forward(rows[which], events["height"][which].astype(np.float32), count))
    trees, events, rows = _others(opened, chosen, layout.WHISPY)
    whispy = carried_forward(rows, events["direction"].astype(np.int16), count)
    screen, events, rows = _others(opened, chosen, layout.STADIUM)
    changes = np.stack([events["event"], events["type"]], axis=-1).astype(np.int32)
    stadium = carried_forward(rows, changes, count)
    sources = {"fod_platforms": fountain, "whispy": trees, "stadium": screen}
    absent = frozenset(name for name, source in sources.items() if source.absent())
    return np.stack(heights, axis=-1), whispy, stadium, absent
