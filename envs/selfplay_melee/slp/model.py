"""The types of a replay; the interface is ``selfplay_melee.replay``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.slp.layout import ITEM_FIELDS, native

if TYPE_CHECKING:
    from selfplay_melee.slp.layout import Version
    from selfplay_melee.slp.start import End
    from selfplay_melee.state import GameState

_Value = TypeVar("_Value")

ITEM: Final = np.dtype([("t", "i4"), *native(ITEM_FIELDS).descr])  # t is the row of the frame


@dataclass(frozen=True, slots=True)
class Seat:
    """The player of one of the two seats; seat 0 is the lower port."""

    port: int  # 0..3
    character: int  # internal id on the first frame, -1 without a frame; Zelda and Sheik may change into each other
    external_character: int  # as on the character select screen
    costume: int
    human: bool
    name: str  # display name, else name tag, else the name in the metadata, else ""
    ratios: tuple[float, float, float] = (1.0, 1.0, 1.0)  # of damage dealt and taken, and of size; 1: the usual rules
    code: str = ""  # connect code, such as KIM#123, else ""

    @property
    def full_name(self) -> str:
        """Name and connect code, as far as they are recorded."""
        return " ".join(filter(None, (self.name.strip(), self.code and f"({self.code})")))


class Later(Generic[_Value]):
    """A field that is given as a value or as a function without arguments, which makes it on first use."""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, replay: object, owner: type[object] | None = None) -> _Value:
        if replay is None:
            raise AttributeError(self._name)  # the field has no default
        value = replay.__dict__[self._name]
        if callable(value):
            value = replay.__dict__[self._name] = value()
        result: _Value = value
        return result

    def __set__(self, replay: object, value: _Value | Callable[[], _Value]) -> None:
        replay.__dict__[self._name] = value


@dataclass(frozen=True, kw_only=True)
class Replay:
    """One game of two players: T frames, two seats.

    Fields that the version of the file does not record are NaN (floats) or -1 (integers) and listed in ``absent``, for
    example "players.hitlag", "pre.raw_y" or "fod_platforms". Columns are converted when they are first used.
    """

    path: str
    version: Version
    stage: int  # as libmelee and the tables of the mock number stages; -1 a stage that has no number there
    external_stage: int  # as the file numbers stages
    pal: bool | None  # None: not recorded
    frozen_stadium: bool | None  # Stadium does not change; files of online games before 3.19 say False even so
    seats: tuple[Seat, Seat]
    state: Later[GameState] = Later()  # game [T] (frame -123 is the first, 0 is GO), players [T, 2], controllers [T, 2]
    pre: Later[NDArray[np.void]] = Later()  # [T, 2] all of the pre-frame events (``slp.layout.PRE_FIELDS``)
    post: Later[NDArray[np.void]] = Later()  # [T, 2] all of the post-frame events (``slp.layout.POST_FIELDS``)
    items: Later[NDArray[np.void]] = Later()  # ITEM [K], column t rises (``slp.layout.ITEM_FIELDS``)
    timing: Later[NDArray[np.void]] = Later()  # [T] random_seed, scene_frame and finalized_frame
    fod_platforms: NDArray[np.float32]  # [T, 2] left, right as recorded, not in units; NaN before the first event
    whispy: NDArray[np.int16]  # [T] 0 no wind, 1 left, 2 right; -1 before the first event
    stadium: NDArray[np.int32]  # [T, 2] event and type of Stadium's transformation; -1 before the first event
    rolled_back: NDArray[np.bool_]  # [T] the frame was recorded more than once
    absent: frozenset[str]
    end: End | None  # None: the file has no game end event
    complete: bool  # the file has an end, and every event and frame before it
    problems: tuple[str, ...]  # defects of the file, as messages
