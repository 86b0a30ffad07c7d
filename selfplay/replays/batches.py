"""Examples of many games in batches: shuffled rows, or windows of streams for a policy with memory.

Both orders follow from seed and epoch and the order of ``games``, never from what happens to be cached. Memory is
bounded: a buffer of rows and one game, or one stream a lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from envs.melee.controller import ACTION_SPEC
from envs.melee.observation import OBS_WIDTH
from selfplay.seeding import derive

if TYPE_CHECKING:
    from envs.api import F32, Actions, Bool
    from envs.melee.examples import Examples
    from selfplay.replays.games import Game

BUFFER_ROWS: Final = 131_072  # about 95 MB
NO_GAME: Final = -1


class Loader(Protocol):
    """Where the examples of games come from; a ``Library``, or several."""

    def load(self, game: Game) -> list[Examples]:
        """See ``Library.load``."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """N decisions of any games."""

    obs: F32  # [N, D]
    action: Actions  # [N, A]
    last: Actions  # [N, A]


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """T decisions in a row of each of N lanes; what is not there is 0 and masked."""

    obs: F32  # [N, T, D]
    action: Actions  # [N, T, A]
    last: Actions  # [N, T, A]
    mask: Bool  # [N, T] the row is there; from the first that is not, none is
    fresh: Bool  # [N, T] a stream begins here: memory starts anew
    game: NDArray[np.int64]  # [N] index into ``games``, NO_GAME for a lane that has nothing left


def frames(
    library: Loader, games: Sequence[Game], rows: int, seed: int, epoch: int, buffer_rows: int = BUFFER_ROWS
) -> Iterator[Batch]:
    """Every decision of the games once, in shuffled batches of ``rows``; only the last batch may be smaller.

    Games come in a shuffled order into a buffer of ``buffer_rows`` rows and what the last game has too many; a full
    buffer is dealt out in a shuffled order.
    """
    rng = np.random.default_rng(derive(seed, "imitation", "frames", epoch))
    kept: list[Batch] = []
    count = 0
    for i in rng.permutation(len(games)):
        kept.extend(Batch(seat.obs, seat.action, seat.last) for seat in library.load(games[i]))
        count = sum(len(part.obs) for part in kept)
        if count >= max(buffer_rows, rows):
            whole = _joined(kept)
            order = rng.permutation(count)
            full = count - count % rows
            yield from (_taken(whole, order[at : at + rows]) for at in range(0, full, rows))
            kept = [_taken(whole, order[full:])]
    if kept:
        whole = _joined(kept)
        order = rng.permutation(len(whole.obs))
        yield from (_taken(whole, order[at : at + rows]) for at in range(0, len(order), rows))


def windows(
    library: Loader,
    games: Sequence[Game],
    lanes: int,
    length: int,
    seed: int,
    epoch: int,
    shuffle: bool = True,
) -> Iterator[WindowBatch]:
    """Every decision of the games once, in windows of ``length`` decisions for truncated back-propagation.

    Each of ``lanes`` lanes walks through one stream, a seat of a game, window after window, and then takes the next
    one; so a lane's window goes on where the window of the batch before ended unless ``fresh`` says otherwise. The
    last window of a stream is padded. Without ``shuffle`` streams are taken in the order of the games.
    """
    streams = [(i, seat) for i, game in enumerate(games) for seat in range(len(game.seats))]
    if shuffle:
        rng = np.random.default_rng(derive(seed, "imitation", "windows", epoch))
        streams = [streams[i] for i in rng.permutation(len(streams))]
    waiting = iter(streams)
    walks: list[_Walk | None] = [None] * lanes
    while True:
        for lane, walk in enumerate(walks):
            if walk is None and (stream := next(waiting, None)) is not None:
                game, seat = stream
                walks[lane] = _Walk(game, library.load(games[game])[seat])
        if not any(walks):
            return
        batch = _empty(lanes, length)
        for lane, walk in enumerate(walks):
            if walk is not None and walk.step(batch, lane):
                walks[lane] = None
        yield batch


class _Walk:
    """How far a lane is in its stream."""

    def __init__(self, game: int, rows: Examples) -> None:
        self._game = game
        self._rows = rows
        self._at = 0

    def step(self, batch: WindowBatch, lane: int) -> bool:
        """Write the next window of the stream into a lane; whether it was the last one."""
        rows, at = self._rows, self._at
        count = min(batch.mask.shape[1], len(rows) - at)
        for name in ("obs", "action", "last", "fresh"):
            getattr(batch, name)[lane, :count] = getattr(rows, name)[at : at + count]
        batch.mask[lane, :count] = True
        batch.game[lane] = self._game
        self._at += count
        return self._at == len(rows)


def _empty(lanes: int, length: int) -> WindowBatch:
    shape = (lanes, length)
    return WindowBatch(
        np.zeros((*shape, OBS_WIDTH), np.float32),
        np.zeros((*shape, ACTION_SPEC.width), np.int8),
        np.zeros((*shape, ACTION_SPEC.width), np.int8),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.full(lanes, NO_GAME),
    )


def _joined(parts: Sequence[Batch]) -> Batch:
    return Batch(
        np.concatenate([part.obs for part in parts]),
        np.concatenate([part.action for part in parts]),
        np.concatenate([part.last for part in parts]),
    )


def _taken(batch: Batch, rows: NDArray[np.int64]) -> Batch:
    return Batch(batch.obs[rows], batch.action[rows], batch.last[rows])
