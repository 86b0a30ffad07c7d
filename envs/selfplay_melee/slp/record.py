"""A game of the mock as a replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import GameError
from selfplay_melee.controller import BUTTONS
from selfplay_melee.slp.columns import (
    BITS,
    FOUNTAIN_STAGE,
    HITSTUN_FLAG,
    SAME,
    fill_controllers,
    fill_players,
    game_columns,
    recorded_heights,
)
from selfplay_melee.slp.layout import POST_FIELDS, PRE_FIELDS, TIMING_FIELDS, native
from selfplay_melee.slp.model import ITEM, Replay, Seat
from selfplay_melee.slp.start import CHARACTERS, STAGES, End, recordable, recordable_code
from selfplay_melee.state import CONTROLLER, NUM_SEATS, PLAYER, GameState, as_records, records

VERSION: Final = (3, 18, 0)
STICK_STEPS: Final = 80  # positions of a stick from its centre to its rim
NO_SEAT: Final = 6  # value of ``last_hit_by``
TIME, GAME_SET, NO_CONTEST = 1, 2, 7
# The item of each character's laser. Source: the list of ProjectileType in libmelee, enums.py (vladfi1/libmelee).
LASER_ITEMS: Final = {1: 54, 22: 55}  # Fox, Falco, by internal character


class Recording:
    """Records the state of one game of a block frame by frame."""

    def __init__(self, game: int = 0) -> None:
        self._game = game
        self._frames: list[tuple[bytes, bytes, bytes]] = []  # NumPy takes long to join many records of many fields

    def __len__(self) -> int:
        return len(self._frames)

    def take(self, state: GameState) -> None:
        b = slice(self._game, self._game + 1)
        self._frames.append((state.game[b].tobytes(), state.players[b].tobytes(), state.controllers[b].tobytes()))

    def state(self) -> GameState:
        """Everything recorded: game [T], players [T, 2], controllers [T, 2]."""
        if not self._frames:
            return GameState.zeros(0)
        empty = GameState.zeros(0)
        parts = zip((empty.game, empty.players, empty.controllers), zip(*self._frames, strict=True), strict=True)
        return GameState(*(_joined(kind, frames) for kind, frames in parts))


def _joined(kind: NDArray[np.void], frames: Sequence[bytes]) -> NDArray[np.void]:
    found = np.frombuffer(bytearray().join(frames), kind.dtype)
    return as_records(found.reshape(len(frames), *kind.shape[1:]))


def seat_of(port: int, character: int, *, human: bool = False, name: str = "") -> Seat:
    """A seat for a character, by its internal id.

    Raises:
        GameError: there is no such character.
    """
    if not 0 <= character < len(CHARACTERS):
        raise GameError(f"no character has the internal id {character}, valid are 0 to {len(CHARACTERS) - 1}")
    return Seat(port, character, CHARACTERS[character], 0, human, name)


def replay_of(
    state: GameState,
    seats: tuple[Seat, Seat],
    stage: int,
    *,
    items: NDArray[np.void] | None = None,
    end: End | None = None,
    path: str = "",
) -> Replay:
    """A replay of these frames, with the state rounded to the width of a file's fields.

    Fields that the mock does not have, such as the seed of the game's generator, are 0.

    Args:
        state: T frames of one game: game [T], players [T, 2], controllers [T, 2].
        seats: The players, lower port first.
        stage: As libmelee and the tables of the mock number stages.
        items: ITEM [K], rows in the order of frames.
        end: How the game ended; None: from the stocks of the last frame.
        path: Of the file.

    Raises:
        GameError: the stage has no number in replay files.
    """
    external = {ours: theirs for theirs, ours in STAGES.items()}
    if stage not in external:
        raise GameError(f"stage {stage} has no number in replay files, valid are {sorted(external)}")
    count = len(state.game)
    if end is None:
        players = state.players
        end = end_of(players["stocks"][-1], players["percent"][-1]) if count else End(NO_CONTEST, None, None)
    pre, post = _pre_columns(state), _post_columns(state)
    heights = np.full((count, 2), np.nan, np.float32)
    if stage == FOUNTAIN_STAGE:
        heights = recorded_heights(state.game)
    game = game_columns(state.game["frame"], stage, heights, recorded=True)
    as_recorded = GameState(game, records(PLAYER, count, NUM_SEATS), records(CONTROLLER, count, NUM_SEATS))
    fill_players(as_recorded.players, post, frozenset())
    fill_controllers(as_recorded.controllers, pre)
    return Replay(
        path=path,
        version=VERSION,
        stage=stage,
        external_stage=external[stage],
        pal=False,
        frozen_stadium=True,
        seats=(_recordable(seats[0]), _recordable(seats[1])),
        state=as_recorded,
        pre=pre,
        post=post,
        items=records(ITEM, 0) if items is None else items,
        timing=_timing(game),
        fod_platforms=heights,
        whispy=np.full(count, -1, np.int16),
        stadium=np.full((count, 2), -1, np.int32),
        rolled_back=np.zeros(count, bool),
        absent=frozenset(),
        end=end,
        complete=True,
        problems=(),
    )


def _recordable(seat: Seat) -> Seat:
    return replace(seat, name=recordable(seat.name), code=recordable_code(seat.code))


def _timing(game: NDArray[np.void]) -> NDArray[np.void]:
    timing = records(native(TIMING_FIELDS), len(game))
    timing["finalized_frame"] = game["frame"]
    timing["scene_frame"] = game["frame"] - game["frame"][:1]
    return timing


def _pre_columns(state: GameState) -> NDArray[np.void]:
    """Pre-frame columns: the state of the previous frame, and the inputs."""
    pre = records(native(PRE_FIELDS), *state.players.shape)
    before = np.maximum(np.arange(len(pre)) - 1, 0)
    for name in ("action", "x", "y", "facing", "percent"):
        pre[name] = state.players[name][before]
    for axis, raw in (("main_x", "raw_x"), ("main_y", "raw_y"), ("c_x", "raw_c_x"), ("c_y", "raw_c_y")):
        pre[axis] = state.controllers[axis]
        pre[raw] = np.rint(state.controllers[axis] * STICK_STEPS)
    pre["trigger"] = pre["l_trigger"] = state.controllers["shoulder"]
    for i, name in enumerate(BUTTONS):
        pre["physical_buttons"] |= np.where(state.controllers["buttons"] >> i & 1, BITS[name], 0).astype(np.int32)
    pre["processed_buttons"] = pre["physical_buttons"] | np.where(pre["physical_buttons"] & BITS["Z"], BITS["A"], 0)
    return pre


def _post_columns(state: GameState) -> NDArray[np.void]:
    players = state.players
    post = records(native(POST_FIELDS), *players.shape)
    for column, name in SAME.items():
        post[name] = players[column]
    post["airborne"] = players["on_ground"] == 0
    post["hurtbox_state"] = players["invulnerable"] != 0
    post["misc"] = players["hitstun"]
    byte, bit = HITSTUN_FLAG
    post["flags"][..., byte] = np.where(players["hitstun"] > 0, bit, 0)
    post["last_hit_by"] = NO_SEAT
    return post


def end_of(stocks: NDArray[np.int32], percent: NDArray[np.float64], *, timer: bool = False) -> End:
    """The end of a game from stocks and percent, [2] each; ``timer``: the time was up."""
    better = int(stocks[1] > stocks[0] or (stocks[1] == stocks[0] and percent[1] < percent[0]))
    placements = tuple(int(seat != better) for seat in range(NUM_SEATS))
    method = GAME_SET if (stocks == 0).any() else TIME if timer else NO_CONTEST
    return End(method, None, placements)
