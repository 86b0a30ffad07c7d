"""The recording of a fight that is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.recfunctions import require_fields
from numpy.typing import NDArray

from selfplay.games.errors import GameError
from selfplay_melee.replay import Recording
from selfplay_melee.state import FPS, GAME, GameState, records

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay


# An item: its moment, Melee's item type, place and speed.
ITEM: Final = np.dtype([("t", "i4"), ("type", "i4"), ("x", "f4"), ("y", "f4"), ("vx", "f4"), ("vy", "f4")])


@dataclass(frozen=True, slots=True)
class Film:
    """T moments of a fight in order, usually all frames."""

    title: str
    names: tuple[str, str]  # of the players, by seat
    stage: int  # Melee's stage id
    frames: NDArray[np.int32]  # [T] frames played since GO, negative before; rising
    players: NDArray[np.void]  # PLAYER [T, 2]
    controllers: NDArray[np.void]  # CONTROLLER [T, 2]
    values: NDArray[np.float32] | None = None  # [T, 2] the reward to come as each seat estimates it, NaN: unknown
    items: NDArray[np.void] | None = None  # ITEM [K] by t, the index of its moment
    platforms: NDArray[np.float32] | None = None  # [T, 2] heights of Fountain of Dreams' left and right platform
    opens_s: float = 0.0  # after the first frame: where a viewer begins
    people: tuple[bool, bool] = (False, False)  # which seats a person plays

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def seconds(self) -> float:
        """Duration from the first frame to the last, in game time."""
        return float(self.frames[-1] - self.frames[0] + 1) / FPS

    def state(self) -> GameState:
        """All moments as one state: game [T], players [T, 2], controllers [T, 2]."""
        game = records(GAME, len(self))
        game["frame"], game["stage"] = self.frames, self.stage
        if self.platforms is not None:
            game["fountain_left"], game["fountain_right"] = self.platforms.T
            game["fountain_given"] = 1
        return GameState(game, self.players.view(np.recarray), self.controllers.view(np.recarray))

    def part(self, start_s: float = 0.0, seconds: float | None = None) -> Film:
        """The part that begins ``start_s`` after the first frame, ``seconds`` long or to the end.

        Raises:
            GameError: the part has no frame.
        """
        first = float(self.frames[0]) + round(start_s * FPS)
        last = float(self.frames[-1]) if seconds is None else first + round(seconds * FPS) - 1
        i, j = np.searchsorted(self.frames, first), np.searchsorted(self.frames, last, side="right")
        if not start_s >= 0 or i >= j:
            raise GameError(f"the fight lasts {self.seconds:.1f} s; nothing of it is to be shown from {start_s:g} s")
        if i == 0 and j == len(self):
            return self
        items = self.items
        if items is not None:
            items = items[(items["t"] >= i) & (items["t"] < j)]
            items["t"] -= i
        return replace(
            self,
            frames=self.frames[i:j],
            players=self.players[i:j],
            controllers=self.controllers[i:j],
            values=None if self.values is None else self.values[i:j],
            items=items,
            platforms=None if self.platforms is None else self.platforms[i:j],
            opens_s=0.0,
        )

    def moments(self, fps: float) -> NDArray[np.intp]:
        """Indices of the moments to show at ``fps`` pictures per second of game time."""
        times = np.arange(self.frames[0], self.frames[-1] + 1, FPS / fps)
        return np.searchsorted(self.frames, times, side="right") - 1


class Recorder:
    """Records one game of a block."""

    def __init__(self, game: int = 0) -> None:
        self._recording = Recording(game)
        self._values: list[NDArray[np.float32]] = []
        self._items: list[NDArray[np.void]] = []

    def take(
        self,
        state: GameState,
        values: NDArray[np.float32] | None = None,
        items: NDArray[np.void] | None = None,
    ) -> None:
        """Record the current state, the value estimates of both seats [2] and the items (ITEM, any t)."""
        if items is not None:
            items = items.copy()
            items["t"] = len(self._values)
            self._items.append(items)
        self._recording.take(state)
        self._values.append(np.full(2, np.nan, np.float32) if values is None else values.astype(np.float32))

    def film(self, title: str, names: tuple[str, str], people: tuple[bool, bool] = (False, False)) -> Film:
        """The film of all recorded moments. ``people``: which seats a person played.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self._values:
            raise ValueError("nothing was recorded")
        values = np.stack(self._values)
        return _film(
            title,
            names,
            self._recording.state(),
            None if np.isnan(values).all() else values,
            np.concatenate(self._items) if self._items else None,
            people,
        )


def film_of(replay: Replay) -> Film:
    """The film of a replay file.

    Raises:
        GameError: the file holds no frame.
    """
    if not len(replay.state.game):
        raise GameError(f"{replay.path} holds no frame")
    names = [seat.name or f"{'Player' if seat.human else 'CPU'} {seat.port + 1}" for seat in replay.seats]
    if names[0] == names[1]:
        names = [f"{name} P{seat.port + 1}" for name, seat in zip(names, replay.seats, strict=True)]
    items = require_fields(replay.items, ITEM)
    items = items[np.isfinite(items["x"]) & np.isfinite(items["y"])]
    first, second = replay.seats
    people = first.human, second.human
    return _film(Path(replay.path).name, (names[0], names[1]), replay.state, None, items, people)


def _film(
    title: str,
    names: tuple[str, str],
    state: GameState,
    values: NDArray[np.float32] | None,
    items: NDArray[np.void] | None,
    people: tuple[bool, bool],
) -> Film:
    game = np.asarray(state.game)
    platforms = np.stack([game["fountain_left"], game["fountain_right"]], axis=1).astype(np.float32)
    return Film(
        title,
        names,
        int(game["stage"][0]),
        game["frame"],
        np.asarray(state.players),
        np.asarray(state.controllers),
        values,
        items,
        None if np.isnan(platforms).any() else platforms,
        people=people,
    )
