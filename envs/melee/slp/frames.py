"""All frames of an opened file, as columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from envs.melee.slp import layout
from envs.melee.slp.choose import Chosen, choose_recordings
from envs.melee.slp.columns import (
    Source,
    absence,
    absent_players,
    carried_forward,
    controller_columns,
    names,
    player_columns,
    source,
)
from envs.melee.slp.layout import native
from envs.melee.state import records

if TYPE_CHECKING:
    from envs.melee.slp.stream import Opened

_Columns = Callable[[], NDArray[np.void]]  # made on first use: most readers want the state only
_Recorded = tuple[Source, NDArray[np.void], NDArray[np.int64]]  # events of one command, and the row of each


@dataclass(frozen=True, slots=True)
class Frames:
    """Columns over T frames; see ``Replay``."""

    numbers: NDArray[np.int64]  # [T]
    players: NDArray[np.void]  # PLAYER [T, 2]
    controllers: NDArray[np.void]  # CONTROLLER [T, 2]
    pre: _Columns  # [T, 2]
    post: _Columns  # [T, 2]
    items: _Columns  # [K]
    timing: _Columns  # [T]
    fod_platforms: NDArray[np.float32]  # [T, 2]
    whispy: NDArray[np.int16]  # [T]
    stadium: NDArray[np.int32]  # [T, 2]
    rolled_back: NDArray[np.bool_]  # [T]
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    absent: frozenset[str]


def read_frames(opened: Opened) -> Frames:
    """Choose the events that count and turn them into columns."""
    chosen = choose_recordings(opened.found)
    pre, post = _source(opened, layout.PRE_FRAME), _source(opened, layout.POST_FRAME)
    inputs = pre.events(opened.data, chosen.offsets[:, :2])
    states = post.events(opened.data, chosen.offsets[:, 2:4])
    items, item_events, item_rows = _others(opened, chosen, layout.ITEM)
    opening, bookend = _placed(opened, chosen, layout.FRAME_START, 4), _placed(opened, chosen, layout.FRAME_BOOKEND, 5)
    with np.errstate(invalid="ignore"):  # a damaged float may be a signalling NaN
        fod_platforms, whispy, stadium, absent = _stage(opened, chosen)
        players, controllers = player_columns(states, post.absent), controller_columns(inputs)
    for part, absent_fields in (
        *(("players", absent_players(post.absent)), ("pre", pre.absent), ("post", post.absent)),
        *(("items", items.absent), ("timing", opening[0].absent | bookend[0].absent)),
    ):
        absent |= names(part, absent_fields)
    return Frames(
        chosen.numbers,
        players,
        controllers,
        partial(pre.columns, inputs),
        partial(post.columns, states),
        partial(items.columns, item_events, item_rows),
        partial(_timing, opening, bookend, len(chosen.numbers)),
        fod_platforms,
        whispy,
        stadium,
        chosen.rolled_back,
        chosen.missing,
        chosen.outside,
        absent,
    )


def _source(opened: Opened, command: int) -> Source:
    return source(command, opened.version, int(opened.sizes[command]))


def _others(opened: Opened, chosen: Chosen, command: int) -> _Recorded:
    """The events of one command that belong to no player."""
    which = np.frombuffer(opened.data, np.uint8)[chosen.others] == command
    found = _source(opened, command)
    return found, found.events(opened.data, chosen.others[which]), chosen.rows[which]


def _placed(opened: Opened, chosen: Chosen, command: int, place: int) -> _Recorded:
    """The events of one command that stand once in a recording."""
    rows = np.flatnonzero(chosen.offsets[:, place])
    found = _source(opened, command)
    return found, found.events(opened.data, chosen.offsets[rows, place]), rows


def _timing(opening: _Recorded, bookend: _Recorded, num_frames: int) -> NDArray[np.void]:
    timing = records(native(layout.TIMING_FIELDS), num_frames)
    for name in timing.dtype.names or ():
        timing[name] = absence(timing.dtype[name])
    for found, events, rows in (opening, bookend):
        for name in (found.native.names or ()) if len(rows) else ():
            if name not in found.absent:
                timing[name][rows] = events[name]
    return timing


def _stage(
    opened: Opened, chosen: Chosen
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
    absent = frozenset(name for name, found in sources.items() if found.absent)
    return np.stack(heights, axis=-1), whispy, stadium, absent
