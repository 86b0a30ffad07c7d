"""Frames of one character out of replays, and the most frequent value among what they show.

The rules of the game are exact: on most frames a quantity such as gravity shows up to single precision. What disturbs
a frame (a hit, an edge, a cap) gives other values, which differ from each other. So the value that most frames agree
on is taken, not a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.coverage import has_usual_rules
from selfplay_melee.physics.inputs import DEAD_ZONE, GATE, RIM, ROUNDING
from selfplay_melee.state import NUM_SEATS, PLAYER

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

EXACT: Final = 1e-4  # values that differ by less are the same
FEWEST: Final = 2  # values that must agree
DIGITS: Final = 5
LINE_POINTS: Final = 60  # most frequent points that make the lines to try
LINE_WIDTH: Final = 6e-5  # from a point to the line that it is on
LINE_GAP: Final = 0.05  # least difference of two sticks whose speeds give a slope
LINE_PLACES: Final = 3  # different sticks that must agree on a line
NEEDED: Final = {"players.speed_y", "players.hitlag"}  # what files before version 3.8 do not record


class Measured(NamedTuple):
    """A value, None if too few frames show it."""

    value: float | None = None
    uncertainty: float | None = None
    frames: int = 0  # that agree on the value
    of: int = 0  # that were looked at
    note: str = ""


class Frames(NamedTuple):
    """All frames of one character, game after game; ``linked`` where the row before is the frame before."""

    linked: Bools
    p: NDArray[np.void]  # PLAYER
    rival: NDArray[np.void]  # PLAYER, the other player
    stick_x: Floats  # as the rules read it: clamped, without the dead zone
    stick_y: Floats
    buttons: Ints
    l_cancel: Ints  # 1: the aerial that landed was cancelled, 2: it was not, 0: neither
    stage: Ints  # of the tables, -1 another one


class Runs(NamedTuple):
    """Stretches of one action from its first to its last frame."""

    first: NDArray[np.intp]
    last: NDArray[np.intp]
    action: Ints
    following: Ints  # the next action, -1 at the end of what was recorded
    undisturbed: Bools  # no hitlag in it


def character_frames(replays: Sequence[Replay], character: int) -> Frames:
    """The frames of a character (Melee's internal id) in all files with usual rules that record speeds."""
    parts = [_nothing()]
    for replay in replays:
        if NEEDED & set(replay.absent) or not has_usual_rules(replay):
            continue
        for seat in range(NUM_SEATS):
            part = _of_seat(replay, seat, character)
            if part is not None:
                parts.append(part)
    return Frames(*(np.concatenate([part[i] for part in parts]) for i in range(len(Frames._fields))))


def _of_seat(replay: Replay, seat: int, character: int) -> Frames | None:
    state = replay.state
    rows = np.flatnonzero(np.asarray(state.players["character"][:, seat]) == character)
    if not len(rows):
        return None
    pads = state.controllers[rows, seat]
    x, y = stick(np.asarray(pads["main_x"]), np.asarray(pads["main_y"]))
    linked = np.diff(rows, prepend=-2) == 1
    players = np.asarray(state.players)
    return Frames(
        linked,
        players[rows, seat],
        players[rows, 1 - seat],
        x,
        y,
        np.asarray(pads["buttons"]),
        np.asarray(replay.post["l_cancel"][rows, seat]).astype(np.int32),
        np.full(len(rows), int(replay.stage), np.int32),
    )


def _nothing() -> Frames:
    empty = np.zeros(0)
    none = np.zeros(0, np.int32)
    return Frames(np.zeros(0, bool), np.zeros(0, PLAYER), np.zeros(0, PLAYER), empty, empty, none, none, none)


def stick(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both axes as ``physics.inputs`` reads them."""
    length = np.hypot(x, y)
    beyond = x * x + y * y > GATE
    axes = []
    for axis in (x, y):
        part = axis / np.where(beyond, length, 1.0)
        stepped = np.trunc(part * RIM + np.where(part > 0.0, ROUNDING, -ROUNDING)) / RIM
        clamped = np.where(beyond, stepped, axis)
        axes.append(np.where(np.abs(clamped) >= DEAD_ZONE, clamped, 0.0))
    return axes[0], axes[1]


def runs_of(frames: Frames) -> Runs:
    """Every action from its first to its last frame; an animation that starts again is a new run."""
    action, age = frames.p["action"], frames.p["action_frame"]
    new = ~frames.linked
    new[1:] |= (action[1:] != action[:-1]) | (age[1:] < age[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(action)) - 1
    following = np.full(len(first), -1, np.int32)
    if len(first):
        goes_on = frames.linked[first[1:]]
        following[:-1] = np.where(goes_on, action[first[1:]], -1)
    frozen = np.concatenate([[0], np.cumsum(frames.p["hitlag"] > 0.0)])
    return Runs(first, last, action[first], following, frozen[last + 1] == frozen[first])


def steady(frames: Frames) -> NDArray[np.intp]:
    """Frames whose frame before is known, both without hitlag."""
    free = frames.p["hitlag"] == 0.0
    now = frames.linked.copy()
    now[1:] &= free[1:] & free[:-1]
    return np.flatnonzero(now)


def mode(values: Floats, step: float = EXACT, note: str = "") -> Measured:
    """The middle of the values that lie within ``step`` of each other and are the most; None if they are too few."""
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return Measured(note=note)
    counts = np.searchsorted(ordered, ordered + step, side="right") - np.arange(len(ordered))
    best = int(np.argmax(counts))
    group = ordered[best : best + counts[best]]
    if len(group) < FEWEST:
        return Measured(None, None, len(group), len(ordered), f"each seen once: {np.round(ordered[:4], 4).tolist()}")
    value = round(float(np.median(group)), DIGITS)
    width = max(float(group[-1] - group[0]) / 2, 10.0**-DIGITS)
    return Measured(value, round(width, DIGITS), len(group), len(ordered), note)


def line(x: Floats, y: Floats) -> tuple[Measured, Measured]:
    """``(a, b)`` of y = a + b x, the line through most positions of a stick; x are distances of it."""
    whole = mode(y[x >= 1.0 - 1.0 / RIM])
    note = "" if whole.value is None else f"together {whole.value} with the stick at its rim ({whole.frames} frames)"
    nothing = Measured(None, None, 0, len(x), note)
    places, counts = np.unique(np.stack([np.round(x, 4), np.round(y, 6)], 1), axis=0, return_counts=True)
    often = np.argsort(-counts, kind="stable")[:LINE_POINTS]
    near, far = np.nonzero(places[often, 0][None, :] - places[often, 0][:, None] > LINE_GAP)
    if not len(near):
        return nothing, nothing
    near, far = often[near], often[far]
    slopes = (places[far, 1] - places[near, 1]) / (places[far, 0] - places[near, 0])
    starts = places[near, 1] - slopes * places[near, 0]
    likely = (slopes > -EXACT) & (starts > -EXACT)
    lines = np.unique(np.round(np.stack([starts, slopes], 1)[likely], 4), axis=0)
    if not len(lines):
        return nothing, nothing
    fits = np.abs(lines[:, :1] + lines[:, 1:] * places[:, 0] - places[:, 1]) < LINE_WIDTH
    best = lines[int(np.argmax(fits @ np.sqrt(counts)))]  # the root: a stick that rests is one position
    agree = np.abs(best[0] + best[1] * x - y) < LINE_WIDTH
    different = len(np.unique(np.round(x[agree], 3)))
    if different < LINE_PLACES:
        return nothing, nothing
    known = Measured(None, EXACT, int(agree.sum()), len(x), f"{different} positions of the stick")
    return known._replace(value=abs(float(best[0]))), known._replace(value=float(best[1]))
