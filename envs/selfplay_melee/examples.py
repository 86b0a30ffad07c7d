"""Examples for imitation: observations of a seat of a replay, labelled with the actions that its player then took.

    replay = read_replay("game.slp")
    for seat in range(2):
        made = examples(replay, seat, frame_skip=4, delay=2, tables=load_tables())

A seat that plays with frame skip k and delay D decides every k frames; what it chooses on seeing frame N is first the
input of frame N+1+D and is held for k frames. So the decision on frame N is labelled with the player's inputs on the
frames N+1+D .. N+D+k, and a policy that outputs the label plays as the player did. Observations come from the
encoder, with the inputs of the frames N+1 .. N+D as pending ones; actions are given in the view of the seat on frame N;
``last`` is the controller of frame N itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import compiled, rule
from selfplay.games.errors import GameError
from selfplay.imitation.batches import Examples
from selfplay_melee.controller import BUTTONS, MAIN_X, SHOULDER, TAP, TAP_FRAMES, encode, mirror
from selfplay_melee.observation import DelayLines, encode_one
from selfplay_melee.state import NUM_SEATS, GameState

if TYPE_CHECKING:
    from selfplay_melee.slp.model import Replay
    from selfplay_melee.tables import Tables

EXAMPLES_VERSION: Final = 2  # raise it when examples change; cached files of another version are rebuilt

_NUM_BUTTONS: Final = len(BUTTONS)
_MAY_BE_ABSENT: Final = ("jumps_left", "on_ground", "invulnerable")  # whole numbers that old files do not record


def examples(replay: Replay, seat: int, frame_skip: int, delay: int, tables: Tables, phase: int = 0) -> Examples:
    """The decisions of a seat.

    The first is on the first row of frame 0 or later. A gap in the frame numbers ends a stream; the next begins on the
    row behind it. A decision with missing label frames is left out.

    The controllers in the frames of a label become one: the most frequent combination of main stick, c-stick and
    shoulder codes, the earliest among equals; a button is pressed if it is pressed in any of the frames. It is a tap if
    buttons are pressed in at most ``TAP_FRAMES`` of more frames, and released in the last.

    Args:
        replay: A game.
        seat: 0 or 1.
        frame_skip: k, frames.
        delay: D, frames.
        tables: For the encoder.
        phase: Each stream's first decision comes so many frames later, 0 to k - 1.

    Raises:
        GameError: an argument is out of range, or the stage has no table.
    """
    if not 0 <= seat < NUM_SEATS or frame_skip < 1 or delay < 0 or not 0 <= phase < frame_skip:
        raise GameError(
            f"seat must be 0 or 1, frame_skip at least 1, delay at least 0 and phase from 0 to frame_skip - 1, "
            f"got {seat}, {frame_skip}, {delay} and {phase}"
        )
    if replay.stage < 0:
        raise GameError(f"{replay.path}: stage {replay.external_stage} of replay files has no table")
    frames = replay.state.game["frame"]
    rows, fresh = _decisions(frames, frame_skip, delay, phase)
    state = replay.state
    seen = known(GameState(state.game[rows], state.players[rows], state.controllers[rows]))
    inputs = _finite(state.controllers[:, seat])
    obs, mirrored = encode_one(seen, seat, tables, _pending(inputs, rows, delay))
    codes = encode(inputs)
    action = np.empty((len(rows), codes.shape[1]), np.int8)
    _label(codes, rows, 1 + delay, frame_skip, action)
    return Examples(
        obs, mirror(action, mirrored), mirror(codes[rows], mirrored), frames[rows].astype(np.int32, copy=False), fresh
    )


def _pending(inputs: NDArray[np.void], rows: NDArray[np.int64], delay: int) -> DelayLines:
    """The inputs [T] of a seat that follow on each decision."""
    line = inputs[rows[:, None] + np.arange(1, 1 + delay)][:, None]
    return DelayLines(line, np.zeros(len(rows), np.int64), np.full((len(rows), 1), delay, np.int64))


def known(state: GameState) -> GameState:
    """A copy of a file's state for the encoder, with 0 for unknown values.

    Unknown are NaN and -1, for fields that the file's version does not record, and other numbers of a damaged file that
    are not finite. Frame numbers and the stage are unchanged.
    """
    players = _finite(state.players)
    for name in _MAY_BE_ABSENT:
        players[name] = np.maximum(players[name], 0)
    return GameState(_finite(state.game), players, _finite(state.controllers))


def _finite(columns: NDArray[np.void]) -> NDArray[np.void]:
    """A copy with 0 in place of every float that is not finite."""
    result = columns.copy()
    for name in result.dtype.names or ():
        column = result[name]
        if column.dtype.kind == "f":
            column[~np.isfinite(column)] = 0.0
    return result


def _decisions(
    frames: NDArray[np.integer], frame_skip: int, delay: int, phase: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of the decisions, and which of them begin a stream, of frame numbers [T] that rise."""
    begin = int(np.searchsorted(frames, 0))
    cuts = begin + 1 + np.flatnonzero(np.diff(frames[begin:]) != 1)
    firsts, ends = np.r_[begin, cuts] + phase, np.r_[cuts, len(frames)] - delay - frame_skip
    streams = [np.arange(first, end, frame_skip) for first, end in zip(firsts, ends, strict=True) if first < end]
    rows = np.concatenate(streams) if streams else np.zeros(0, np.int64)
    fresh = np.zeros(len(rows), np.bool_)
    if streams:
        fresh[np.cumsum([0, *(len(stream) for stream in streams[:-1])])] = True
    return rows, fresh


@rule
def _same(codes: NDArray[np.int8], i: int, j: int) -> bool:
    differ = 0
    for column in range(MAIN_X, SHOULDER + 1):
        differ += codes[i, column] != codes[j, column]
    return differ == 0


@compiled
def _label(
    codes: NDArray[np.int8],  # [T, A]
    rows: NDArray[np.int64],  # [M] of decisions
    later: int,  # rows from a decision to the first frame of its label
    count: int,  # frames of a label
    action: NDArray[np.int8],  # [M, A] out
) -> None:
    for m in range(len(rows)):
        first = rows[m] + later
        behind = first + count
        chosen, most = first, 0
        for i in range(first, behind):
            times = 0
            for j in range(i, behind):
                times += _same(codes, i, j)
            if times > most:
                chosen, most = i, times
        for column in range(codes.shape[1]):
            action[m, column] = codes[chosen, column]
        pressed, last = 0, 0  # frames with some button
        for i in range(first, behind):
            last = 0
            for button in range(_NUM_BUTTONS):
                action[m, button] |= codes[i, button]
                last |= codes[i, button]
            pressed += last
        action[m, TAP] = count > TAP_FRAMES and 0 < pressed <= TAP_FRAMES and last == 0
