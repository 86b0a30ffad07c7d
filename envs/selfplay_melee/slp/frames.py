"""The replay in an opened file: all frames as columns, the players, and problems of the file.

Of each frame the last whole recording counts, which has the inputs and states of both players.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from selfplay.games.files import printable
from selfplay_melee.slp import layout
from selfplay_melee.slp.columns import (
    Source,
    absence,
    absent_players,
    blocks,
    carried_forward,
    fill_controllers,
    fill_players,
    game_columns,
    source,
)
from selfplay_melee.slp.container import MetadataError, Value, read_metadata
from selfplay_melee.slp.layout import native
from selfplay_melee.slp.model import Replay, Seat
from selfplay_melee.slp.start import HUMAN, STAGES
from selfplay_melee.state import CONTROLLER, NUM_SEATS, PLAYER, GameState, as_records, records

if TYPE_CHECKING:
    from selfplay_melee.slp.scan import Found
    from selfplay_melee.slp.start import PortStart
    from selfplay_melee.slp.stream import Opened

_Columns = Callable[[], NDArray[np.void]]
_Recorded = tuple[Source, NDArray[np.int64], NDArray[np.int64]]  # events of one command: offsets, and the row of each


def read_frames(opened: Opened) -> Replay:
    """Choose the events that count; functions make columns of them when these are first used."""
    chosen, data = _choose_recordings(opened.found), opened.data
    pre, post = _source(opened, layout.PRE_FRAME), _source(opened, layout.POST_FRAME)
    inputs, states = chosen.offsets[:, :2], chosen.offsets[:, 2:4]
    items, item_offsets, item_rows = _others(opened, chosen, layout.ITEM)
    opening, bookend = _placed(opened, chosen, layout.FRAME_START, 4), _placed(opened, chosen, layout.FRAME_BOOKEND, 5)
    fod_platforms, whispy, stadium, absent = _stage(opened, chosen)
    stage = STAGES.get(opened.start.stage, -1)
    game = partial(game_columns, chosen.numbers, stage, fod_platforms, recorded="fod_platforms" not in absent)
    for part, absent_fields in (
        *(("players", absent_players(post.absent)), ("pre", pre.absent), ("post", post.absent)),
        *(("items", items.absent), ("timing", opening[0].absent | bookend[0].absent)),
    ):
        absent |= {f"{part}.{name}" for name in absent_fields}
    first = post.events(data, states[:1])["character"].tolist()
    characters = first[0] if first else (-1, -1)
    named, problems = _names(opened)
    seats = [_seat(port, characters[i], named.get(port.port, {})) for i, port in enumerate(opened.start.ports)]
    return Replay(
        path=opened.file,
        version=opened.version,
        stage=stage,
        external_stage=opened.start.stage,
        pal=opened.start.pal,
        frozen_stadium=opened.start.frozen_stadium,
        seats=(seats[0], seats[1]),
        state=partial(_state, data, game, (pre, inputs), (post, states)),
        pre=partial(pre.columns, data, inputs),
        post=partial(post.columns, data, states),
        items=partial(items.columns, data, item_offsets, item_rows),
        timing=partial(_timing, data, opening, bookend, len(chosen.numbers)),
        fod_platforms=fod_platforms,
        whispy=whispy,
        stadium=stadium,
        rolled_back=chosen.rolled_back,
        absent=absent,
        end=opened.end,
        complete=opened.complete and opened.end is not None and not len(chosen.missing) and not chosen.outside,
        problems=(*opened.problems, *problems, *_frame_problems(opened, chosen)),
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The events that count, of T frames."""

    numbers: NDArray[np.int64]  # [T] frame numbers
    offsets: NDArray[np.int64]  # [T, PLACES] of the events of players, frame start and bookend; 0 not recorded
    rolled_back: NDArray[np.bool_]  # [T] the frame was recorded more than once
    missing: NDArray[np.int64]  # numbers of frames of the game without a whole recording
    outside: int  # events with an impossible frame number
    others: NDArray[np.int64]  # [N] offsets of the other events of those frames, in the order of frames
    rows: NDArray[np.int64]  # [N] their row, 0..T-1


def _choose_recordings(found: Found) -> _Chosen:
    """The recordings that count."""
    slots = found.numbers - layout.FIRST_FRAME
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
    others, rows = _other_events(found, counting)
    return _Chosen(
        frames + layout.FIRST_FRAME,
        np.maximum(offsets, 0),
        recorded[frames] > 1,
        np.flatnonzero(expected & (kept < 0)) + layout.FIRST_FRAME,
        found.outside + int(found.events[found.shapes[~possible]].sum()),
        others,
        rows,
    )


def _other_events(found: Found, counting: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The other events of the recordings that count, and the rows of their frames, which rise."""
    rows = np.full(len(found.begins), -1)
    rows[counting] = np.arange(len(counting))
    rows = rows[found.begins.searchsorted(found.others, "right") - 1]
    others, rows = found.others[rows >= 0], rows[rows >= 0]
    order = np.argsort(rows, kind="stable")  # frames that were recorded again
    return others[order], rows[order]


def _state(
    data: bytes,
    game: _Columns,
    inputs: tuple[Source, NDArray[np.int64]],
    states: tuple[Source, NDArray[np.int64]],
) -> GameState:
    (pre, pre_offsets), (post, post_offsets) = inputs, states
    count = len(pre_offsets)
    players = as_records(np.empty((count, NUM_SEATS), PLAYER))  # every byte of it is written
    state = GameState(game(), players, records(CONTROLLER, count, NUM_SEATS))
    with np.errstate(invalid="ignore"):  # a damaged float may be a signalling NaN
        for part in blocks(count):
            fill_players(state.players[part], post.events(data, post_offsets[part]), post.absent)
            fill_controllers(state.controllers[part], pre.events(data, pre_offsets[part]))
    return state


def _source(opened: Opened, command: int) -> Source:
    return source(command, opened.version, int(opened.sizes[command]))


def _others(opened: Opened, chosen: _Chosen, command: int) -> _Recorded:
    """The events of one command that belong to no player and may stand several times in a recording."""
    which = np.frombuffer(opened.data, np.uint8)[chosen.others] == command
    return _source(opened, command), chosen.others[which], chosen.rows[which]


def _placed(opened: Opened, chosen: _Chosen, command: int, place: int) -> _Recorded:
    """The events of one command that stand once in a recording."""
    rows = np.flatnonzero(chosen.offsets[:, place])
    return _source(opened, command), chosen.offsets[rows, place], rows


def _timing(data: bytes, opening: _Recorded, bookend: _Recorded, num_frames: int) -> NDArray[np.void]:
    timing = records(native(layout.TIMING_FIELDS), num_frames)
    for name in timing.dtype.names or ():
        timing[name] = absence(timing.dtype[name])
    for found, offsets, rows in (opening, bookend):
        events = found.events(data, offsets)
        for name in found.native.names or ():
            if name not in found.absent:
                timing[name][rows if len(rows) < num_frames else slice(None)] = events[name]
    return timing


def _stage(
    opened: Opened, chosen: _Chosen
) -> tuple[NDArray[np.float32], NDArray[np.int16], NDArray[np.int32], frozenset[str]]:
    """Moving parts of the stage, recorded when they change and carried forward, and names of those not recorded."""
    count = len(chosen.numbers)

    def changes(command: int) -> tuple[Source, NDArray[np.void], NDArray[np.int64]]:
        found, offsets, rows = _others(opened, chosen, command)
        return found, found.events(opened.data, offsets), rows

    fountain, events, rows = changes(layout.FOUNTAIN)
    heights = []
    with np.errstate(invalid="ignore"):
        for platform in (layout.LEFT_PLATFORM, layout.RIGHT_PLATFORM):
            which = events["platform"] == platform
            heights.append(carried_forward(rows[which], events["height"][which].astype(np.float32), count))
    trees, events, rows = changes(layout.WHISPY)
    whispy = carried_forward(rows, events["direction"].astype(np.int16), count)
    screen, events, rows = changes(layout.STADIUM)
    stadium = carried_forward(rows, np.stack([events["event"], events["type"]], axis=-1).astype(np.int32), count)
    sources = {"fod_platforms": fountain, "whispy": trees, "stadium": screen}
    absent = frozenset(name for name, found in sources.items() if found.absent)
    return np.stack(heights, axis=-1), whispy, stadium, absent


def _seat(start: PortStart, character: int, named: dict[str, str]) -> Seat:
    return Seat(
        start.port,
        character,
        start.external_character,
        start.costume,
        start.kind == HUMAN,
        start.name or named.get("netplay", ""),
        start.ratios,
        start.code or named.get("code", ""),
    )


def _names(opened: Opened) -> tuple[dict[int, dict[str, str]], tuple[str, ...]]:
    """The names of each port in the metadata, such as "netplay" and "code", and problems of the metadata."""
    if not opened.complete:
        return {}, ()
    try:
        metadata = read_metadata(opened.data, opened.stream.end)
    except MetadataError as error:
        offset, reason = error.args
        return {}, (f"byte {offset}: {reason}",)
    names = {}
    for port in opened.ports:
        inner: Value = dict(metadata)
        for key in ("players", str(port), "names"):
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            texts = ((kind, text) for kind, text in inner.items() if isinstance(text, str))
            names[port] = {kind: printable(text) for kind, text in texts}
    return names, ()


def _frame_problems(opened: Opened, chosen: _Chosen) -> tuple[str, ...]:
    problems = []
    if len(chosen.missing):
        problems.append(f"{len(chosen.missing)} frames are left out, the first is {chosen.missing[0]}")
    if chosen.outside:
        problems.append(f"{chosen.outside} events of frames that cannot be are skipped")
    if not opened.complete:
        problems.append(f"the last whole frame is {chosen.numbers[-1]}" if len(chosen.numbers) else "no frame is whole")
    return tuple(problems)
