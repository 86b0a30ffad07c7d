"""Arrays over frames from the offsets of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.controller import BUTTONS
from selfplay_melee.slp.layout import EVENTS, FRAME_HEAD, Version, native, packed, recorded, size_of
from selfplay_melee.state import GAME, PLAYER, as_records, records

_Number = TypeVar("_Number", bound=np.generic)

# PLAYER column -> the post-frame field that is the same quantity.
SAME = {
    "action_frame": "state_age",
    **{
        name: name
        for name in (
            *("x", "y", "speed_air_x", "speed_ground_x", "speed_y", "speed_attack_x", "speed_attack_y", "facing"),
            *("percent", "shield", "hitlag", "action", "character", "stocks", "jumps_left"),
        )
    },
}
# Computed PLAYER column -> the post-frame field that it needs.
WORKED_OUT = {"on_ground": "airborne", "invulnerable": "hurtbox_state", "hitstun": "misc"}
HITSTUN_FLAG: Final = (3, 0x02)  # byte of the flags, bit
BLOCK: Final = 1024

# Fountain of Dreams: a platform of recorded height h stands at FLOOR + SCALE * h units, and starts at h = FIRST_HEIGHTS
# (left, right). Seen in replays: players stand at 16.1251 and 22.1251 until the heights change from 20 and 28.
FOUNTAIN_STAGE: Final = 0x08
FLOOR, SCALE = 1.125, 0.75
FIRST_HEIGHTS: Final = (20.0, 28.0)

# The bits of the recorded buttons in the order of ``controller.BUTTONS``.
BITS = {"A": 0x100, "B": 0x200, "X": 0x400, "Y": 0x800, "Z": 0x10, "L": 0x40, "R": 0x20, "D_UP": 0x08}


@dataclass(frozen=True, slots=True)
class Source:
    """How files of one version record events of one kind."""

    size: int  # bytes after the command byte; -1: the file declares no such event
    absent: frozenset[str]  # names of fields that are not recorded
    packed: np.dtype[np.void]  # of an event
    native: np.dtype[np.void]  # of columns

    def events(self, data: bytes, offsets: NDArray[np.int64]) -> NDArray[np.void]:
        """The events at the offsets [...], big-endian."""
        if offsets.size == 0:
            return np.zeros(offsets.shape, self.native)
        # one overlapping record at every byte of the file: indexing copies the selected ones, and checks bounds
        count = len(data) - self.size
        everywhere: NDArray[np.void] = np.ndarray((count,), f"V{self.size + 1}", data, strides=(1,))
        return everywhere[offsets].view(self.packed)

    def columns(
        self, data: bytes, offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.void]:
        """The events at the offsets [...] as native columns, NaN or -1 in what is absent; ``rows`` are a column t."""
        dtype = self.native if rows is None else np.dtype([("t", "i4"), *self.native.descr])
        result = as_records(np.empty(offsets.shape, dtype))
        if rows is not None:
            result["t"] = rows
        for part in blocks(len(offsets)):
            events, into = self.events(data, offsets[part]), result[part]
            with np.errstate(invalid="ignore"):  # a damaged float may be a signalling NaN
                for name in self.native.names or ():
                    into[name] = absence(dtype[name]) if name in self.absent else events[name]
        return result


def blocks(count: int) -> list[slice]:
    """Parts of ``count`` frames whose events stay in the cache while they are converted, column by column."""
    return [slice(first, first + BLOCK) for first in range(0, count, BLOCK)]


@lru_cache(maxsize=256)  # files of a version are alike, and the types take longer to make than a column
def source(command: int, version: Version, size: int) -> Source:
    """How a file of this version, whose events have ``size`` bytes after the command byte, records them."""
    fields = tuple(EVENTS[command])
    present = recorded(fields, version, size)
    absent = frozenset(f.name for f in fields) - {f.name for f in present}
    whole = packed((*FRAME_HEAD, *present), max(size, size_of(FRAME_HEAD, version)))  # shorter ones are not read
    return Source(size, absent, whole, native(fields))


def absence(dtype: np.dtype[np.generic]) -> float | int:
    """The value of a column that a file does not record."""
    return np.nan if dtype.base.kind == "f" else -1


def fill_players(players: NDArray[np.void], post: NDArray[np.void], absent: frozenset[str]) -> None:
    """PLAYER [T, 2] from post-frame events or columns, some of whose fields are absent."""
    for column, name in SAME.items():
        players[column] = absence(PLAYER[column]) if name in absent else post[name]
    byte, bit = HITSTUN_FLAG
    players["on_ground"] = -1 if "airborne" in absent else post["airborne"] == 0
    players["invulnerable"] = -1 if "hurtbox_state" in absent else post["hurtbox_state"] != 0
    players["hitstun"] = np.nan
    if "misc" not in absent:
        in_hitstun = post["flags"][..., byte] & bit != 0
        players["hitstun"] = np.where(in_hitstun, post["misc"], 0)


def absent_players(absent: frozenset[str]) -> frozenset[str]:
    """PLAYER columns that are unknown where these post-frame fields are absent."""
    return frozenset(column for column, name in (SAME | WORKED_OUT).items() if name in absent)


def fill_controllers(controllers: NDArray[np.void], pre: NDArray[np.void]) -> None:
    """CONTROLLER [T, 2] of pre-frame events or columns.

    The shoulder is the *processed* trigger, after the game's dead zone: 1 for a digital press and 0.35 for Z. The
    physical triggers rest a little above 0, and a computer player has none.

    Buttons are the physical and the processed ones, because computer players and programs that write inputs into the
    game press no physical button. Z also sets A among the processed ones; that A is left out.
    """
    for axis in ("main_x", "main_y", "c_x", "c_y"):
        controllers[axis] = pre[axis]
    controllers["shoulder"] = pre["trigger"]
    physical, processed = pre["physical_buttons"].astype(np.uint16), pre["processed_buttons"].astype(np.uint16)
    implied = (physical & BITS["Z"]) * (BITS["A"] // BITS["Z"])
    controllers["buttons"] = BUTTON_ORDER[(physical | (processed & ~implied)) & 0xFFF]


def game_columns(
    frames: NDArray[np.integer], stage: int, heights: NDArray[np.float32], *, recorded: bool
) -> NDArray[np.void]:
    """GAME [T] with the recorded heights [T, 2] of the Fountain's platforms.

    Heights are recorded when they change; before the first event they are those at the start of every game. If they
    are not recorded, and on other stages, they are NaN and not "given".
    """
    game = records(GAME, len(frames))
    game["frame"], game["stage"] = frames, stage
    known = recorded and stage == FOUNTAIN_STAGE
    game["fountain_given"] = known
    for column, name in enumerate(("fountain_left", "fountain_right")):
        started = np.where(np.isnan(heights[:, column]), FIRST_HEIGHTS[column], heights[:, column].astype(np.float64))
        game[name] = FLOOR + SCALE * started if known else np.nan
    return game


def recorded_heights(game: NDArray[np.void]) -> NDArray[np.float32]:
    """Heights [T, 2] of the platforms of GAME [T] as a file records them."""
    units = np.stack([game["fountain_left"], game["fountain_right"]], axis=-1)
    return ((units - FLOOR) / SCALE).astype(np.float32)


def _button_order() -> NDArray[np.int32]:
    """Recorded bits, 0..0xFFF -> bits in the order of ``controller.BUTTONS``."""
    bits = np.arange(0x1000)
    order = np.zeros(len(bits), np.int32)
    for i, name in enumerate(BUTTONS):
        order |= np.where(bits & BITS[name] != 0, 1 << i, 0).astype(np.int32)
    return order


BUTTON_ORDER = _button_order()


def carried_forward(rows: NDArray[np.int64], values: NDArray[_Number], num_frames: int) -> NDArray[_Number]:
    """Values [N, ...] that changed in rows [N] (rising), on every row: [num_frames, ...], absent until the first."""
    latest = np.full(num_frames, -1)
    latest[rows] = np.arange(len(rows))
    latest = np.maximum.accumulate(latest)
    result = np.full((num_frames, *values.shape[1:]), absence(values.dtype), values.dtype)
    known = latest >= 0
    result[known] = values[latest[known]]
    return result
