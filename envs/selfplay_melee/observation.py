"""Observations of a seat from a GameState: one encoder for mock, Dolphin and replays.

Each seat sees itself first, and sees the game mirrored where that puts its opponent on the right. Left and right,
and the two seats, are therefore the same to a policy; its actions are given in the same view (``controller.mirror``).
Features are scaled to be of the order of 1; the list in ``features.feature_names`` is the layout. The traits of
a character without a table are 0; see ``phase`` for its other features.

A seat that acts with a delay sees its pending inputs, which it has chosen and which have not arrived: of each of
``PENDING_PARTS`` equal parts of the delay, the mean over its frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import compiled, rule
from selfplay.games.errors import GameError
from selfplay_melee.actions import CATEGORIES, CATEGORY_OF
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_L, BUTTON_R, BUTTON_X, BUTTON_Y, BUTTON_Z
from selfplay_melee.features import (
    BODY,
    ENCODER_VERSION,
    OBS_WIDTH,
    PENDING,
    PENDING_PARTS,
    PLATFORMS,
    PLAYER,
    TRAITS,
    feature_names,
)
from selfplay_melee.phase import NO_HIT, busy_for, character_row, next_hit
from selfplay_melee.state import CONTROLLER, NUM_SEATS
from selfplay_melee.tables.layout import FOUNTAIN, NUM_IDS

if TYPE_CHECKING:
    from selfplay_melee.state import GameState
    from selfplay_melee.tables import Tables

__all__ = [
    "ENCODER_VERSION",
    "OBS_WIDTH",
    "encode",
    "encode_games",
    "encode_one",
    "encode_seat",
    "feature_names",
    "no_delay",
]

_N_BODY, _N_PLAYER, _N_CATEGORIES = len(BODY), len(PLAYER), len(CATEGORIES)
_N_TRAITS, _NUM_ACTIONS, _N_PENDING = len(TRAITS), len(CATEGORY_OF), len(PENDING)
_JUMP, _SHIELD = BUTTON_X | BUTTON_Y, BUTTON_L | BUTTON_R


class DelayLines(NamedTuple):
    """The inputs of the next frames. Those of frame ``first`` + i are at (``first`` + i) % L."""

    line: NDArray[np.void]  # CONTROLLER [B, P, L]
    first: NDArray[np.int64]  # [B]
    delay: NDArray[np.int64]  # [B, P] how many of them each seat has chosen already


def no_delay(num_games: int, num_seats: int = NUM_SEATS) -> DelayLines:
    """Lines of seats that act at once."""
    shape = (num_games, num_seats)
    return DelayLines(np.zeros((*shape, 0), CONTROLLER), np.zeros(num_games, np.int64), np.zeros(shape, np.int64))


@rule
def is_mirrored(me, other):
    """Whether a seat sees the game mirrored: its opponent stands on its left, or exactly here and it looks left."""
    if other.x != me.x:
        return other.x < me.x
    return me.facing < 0.0


@rule
def encode_seat(game, me, other, controller, line, first, delay, tables, out):
    """Write the features of one seat into ``out`` [OBS_WIDTH]; returns whether the view is mirrored.

    ``line`` [L], ``first``, ``delay``: see ``DelayLines``.
    """
    mirrored = is_mirrored(me, other)
    side = -1.0 if mirrored else 1.0
    stage = tables.stages[tables.stage_rows[game.stage]]
    _player(me, side, stage, tables, out, 0)
    _player(other, side, stage, tables, out, _N_PLAYER)
    at = 2 * _N_PLAYER
    gap_x, gap_y = abs(other.x - me.x), other.y - me.y
    out[at] = gap_x * 0.01
    out[at + 1] = gap_y * 0.01
    out[at + 2] = min(gap_x * 0.05, 1.0)
    out[at + 3] = min(max(gap_y * 0.05, -1.0), 1.0)
    at += 4
    _stage(game, stage, side, out, at)
    at += 4 + 3 * PLATFORMS
    for i in range(8):
        out[at + i] = (controller.buttons >> i) & 1
    out[at + 8] = side * controller.main_x
    out[at + 9] = controller.main_y
    out[at + 10] = side * controller.c_x
    out[at + 11] = controller.c_y
    out[at + 12] = controller.shoulder
    at += 13
    for part in range(PENDING_PARTS):
        begin, end = delay * part // PENDING_PARTS, delay * (part + 1) // PENDING_PARTS
        _pending(line, first + begin, end - begin, side, out, at + part * _N_PENDING)
    return mirrored


@rule
def _pending(line, first, frames, side, out, at):
    """Means over frames; 0 without any."""
    for i in range(_N_PENDING):
        out[at + i] = 0.0
    if frames == 0:
        return
    share = 1.0 / frames
    for i in range(frames):
        pad = line[(first + i) % len(line)]
        out[at] += share if pad.buttons & BUTTON_A else 0.0
        out[at + 1] += share if pad.buttons & BUTTON_B else 0.0
        out[at + 2] += share if pad.buttons & _JUMP else 0.0
        out[at + 3] += share if pad.buttons & BUTTON_Z else 0.0
        out[at + 4] += share if pad.buttons & _SHIELD else share * pad.shoulder
        out[at + 5] += share * side * pad.main_x
        out[at + 6] += share * pad.main_y
        out[at + 7] += share * side * pad.c_x
        out[at + 8] += share * pad.c_y


@rule
def _player(p, side, stage, tables, out, at):
    speed_x = p.speed_ground_x if p.on_ground == 1 else p.speed_air_x
    out[at] = side * p.x * 0.01
    out[at + 1] = p.y * 0.01
    out[at + 2] = side * speed_x * 0.4
    out[at + 3] = p.speed_y * 0.4
    out[at + 4] = side * p.speed_attack_x * 0.4
    out[at + 5] = p.speed_attack_y * 0.4
    out[at + 6] = side * p.facing
    out[at + 7] = p.percent * 0.01
    out[at + 8] = p.shield / 60.0
    out[at + 9] = min(p.hitlag * 0.1, 2.0)
    out[at + 10] = min(p.hitstun * 0.03, 2.0)
    out[at + 11] = min(p.action_frame * 0.03, 2.0)
    out[at + 12] = min(busy_for(p, tables) * 0.04, 2.0)
    wait = next_hit(p, tables)
    out[at + 13] = 0.0 if wait == NO_HIT else max(1.0 - 0.05 * wait, 0.0)
    out[at + 14] = p.stocks * 0.25
    out[at + 15] = p.jumps_left * 0.5
    out[at + 16] = p.on_ground
    out[at + 17] = p.invulnerable
    out[at + 18] = (stage.surface_right[0] - abs(p.x)) * 0.02
    _traits(character_row(p, tables), tables, out, at + _N_BODY)
    first = at + _N_BODY + _N_TRAITS
    for i in range(_N_CATEGORIES):
        out[first + i] = 0.0
    if 0 <= p.action < _NUM_ACTIONS:
        out[first + int(CATEGORY_OF[p.action])] = 1.0  # as a sum of 8 bits it would overflow, uncompiled


@rule
def _traits(row, tables, out, at):
    if row < 0:
        for i in range(at, at + _N_TRAITS):
            out[i] = 0.0
        return
    traits = tables.characters[row]
    out[at] = traits.weight * 0.01
    out[at + 1] = traits.gravity * 5.0
    out[at + 2] = traits.fall_speed * 0.4
    out[at + 3] = traits.run_max * 0.5
    out[at + 4] = traits.air_max
    out[at + 5] = traits.full_hop * 0.3


@rule
def _stage(game, stage, side, out, at):
    out[at] = stage.surface_right[0] * 0.01
    out[at + 1] = stage.blast_top * 0.005
    out[at + 2] = stage.blast_right * 0.005
    out[at + 3] = stage.blast_bottom * 0.005
    for i in range(at + 4, at + 4 + 3 * PLATFORMS):
        out[i] = 0.0
    last = min(stage.num_surfaces - 1, PLATFORMS)  # a fourth platform, Yoshi's Story's cloud, is left out
    for i in range(1, last + 1):
        order = _order(stage, i, side, last)
        place = at + 4 + 3 * order
        left, right = stage.surface_left[i], stage.surface_right[i]
        y = stage.surface_y[i]
        if stage.movement == FOUNTAIN and stage.surface_mover[i] >= 0:
            y = game.fountain_right if stage.surface_mover[i] else game.fountain_left
        out[place] = y * 0.01
        out[place + 1] = (left if side > 0 else -right) * 0.01
        out[place + 2] = (right if side > 0 else -left) * 0.01


@rule
def _order(stage, i, side, last):
    """Number of platforms further left in the seat's view."""
    centre = side * (stage.surface_left[i] + stage.surface_right[i])
    before = 0
    for j in range(1, last + 1):
        other = side * (stage.surface_left[j] + stage.surface_right[j])
        if other < centre or (other == centre and j < i):
            before += 1
    return before


@rule
def _has_stage(game, tables):
    return 0 <= game.stage < NUM_IDS and tables.stage_rows[game.stage] >= 0


@compiled
def encode_games(game, players, controllers, lines, first, seats, tables, out, mirrored):
    """Encode seats ``first`` to ``first + seats - 1``; the first game whose stage has no table, else -1.

    ``lines`` has the delay lines of these seats.
    """
    for b in range(len(game)):
        if not _has_stage(game[b], tables):
            return b
        for i in range(seats):
            seat = first + i
            mirrored[b, i] = encode_seat(
                game[b], players[b, seat], players[b, 1 - seat], controllers[b, seat], lines.line[b, i],
                lines.first[b], lines.delay[b, i], tables, out[b, i],
            )  # fmt: skip
    return -1


def encode(
    state: GameState, tables: Tables, lines: DelayLines | None = None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Observations float [B, P, OBS_WIDTH] of every seat, and which seats see a mirrored game, bool [B, P].

    Raises:
        GameError: a stage has no table.
    """
    return _encode(state, tables, no_delay(len(state.game)) if lines is None else lines, 0, NUM_SEATS)


def encode_one(
    state: GameState, seat: int, tables: Tables, lines: DelayLines
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The same of one seat alone: float [B, OBS_WIDTH] and bool [B]. ``lines`` is of that seat, P is 1."""
    obs, mirrored = _encode(state, tables, lines, seat, 1)
    return obs[:, 0], mirrored[:, 0]


def _encode(
    state: GameState, tables: Tables, lines: DelayLines, first: int, seats: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    shape = (len(state.game), seats)
    out = np.empty((*shape, OBS_WIDTH), np.float32)
    mirrored = np.empty(shape, np.bool_)
    bad = encode_games(state.game, state.players, state.controllers, lines, first, seats, tables, out, mirrored)
    if bad >= 0:
        known = np.flatnonzero(tables.stage_rows >= 0).tolist()
        raise GameError(f"stage {state.game[bad].stage} has no table, the stages that have one are {known}")
    return out, mirrored
