"""Batches of examples: shuffled rows, or windows of sequences for recurrent policies. No torch.

The order depends only on seed, epoch and the order of ``games``, not on the cache. Memory is bounded by a buffer of
rows and one game, or by one sequence per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.games.api import F32, Actions, Bool
    from selfplay.imitation.recordings import Game, Recordings

BUFFER_ROWS: Final = 131_072  # about 95 MB
NO_GAME: Final = -1


@dataclass(frozen=True, slots=True)
class Examples:
    """M decisions of one seat of one game, in the order of time."""

    obs: F32  # [M, D]
    action: Actions  # [M, A] what the player did
    last: Actions  # [M, A] the action before: what doing nothing new would repeat
    frame: NDArray[np.int32]  # [M] step or frame of the observation
    fresh: Bool  # [M] a stream begins here: what came before is not the decision before
    legal: Bool | None = None  # [M, L] what could be chosen; None: everything

    def __len__(self) -> int:
        return len(self.obs)


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """T consecutive decisions of N lanes; padding is 0 and masked."""

    obs: F32  # [N, T, D]
    action: Actions  # [N, T, A]
    last: Actions  # [N, T, A]
    mask: Bool  # [N, T] False for padding, which is always at the end
    fresh: Bool  # [N, T] start of a sequence: reset the recurrent state
    game: NDArray[np.int64]  # [N] index into ``games``; NO_GAME for an empty lane
    legal: Bool | None  # [N, T, L]


def frames(
    library: Recordings, games: Sequence[Game], rows: int, seed: int, epoch: int, buffer_rows: int = BUFFER_ROWS
) -> Iterator[Examples]:
    """Yield every decision once, in shuffled batches of ``rows``; only the last batch can be smaller.

    Games are loaded in shuffled order into a buffer of at least ``buffer_rows`` rows, which is then shuffled.
    """
    rng = np.random.default_rng(derive(seed, "imitation", "frames", epoch))
    kept: list[Examples] = []
    count = 0
    for i in rng.permutation(len(games)):
        seats = library.load(games[i])
        kept.extend(seats)
        count += sum(map(len, seats))
        if count >= max(buffer_rows, rows):
            whole = _joined(kept)
            order = rng.permutation(count)
            full = count - count % rows
            yield from (_taken(whole, order[at : at + rows]) for at in range(0, full, rows))
            kept, count = [_taken(whole, order[full:])], count - full
    if kept:
        whole = _joined(kept)
        order = rng.permutation(len(whole))
        yield from (_taken(whole, order[at : at + rows]) for at in range(0, len(order), rows))


def windows(
    library: Recordings, games: Sequence[Game], lanes: int, length: int, seed: int, epoch: int, shuffle: bool = True
) -> Iterator[WindowBatch]:
    """Yield every decision once, in windows of ``length`` decisions for truncated back-propagation.

    Each lane steps through one sequence (a seat of a game), then takes the next one. So a window continues the lane's
    previous window unless ``fresh`` is set. The last window of a sequence is padded. Without ``shuffle`` sequences are
    taken in the order of the games.
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
        first = next((walk for walk in walks if walk is not None), None)
        if first is None:
            return
        batch = _empty(lanes, length, first.rows)
        for lane, walk in enumerate(walks):
            if walk is not None and walk.step(batch, lane):
                walks[lane] = None
        yield batch


class _Walk:
    """Position of a lane in its sequence."""

    def __init__(self, game: int, rows: Examples) -> None:
        self._game = game
        self.rows = rows
        self._at = 0

    def step(self, batch: WindowBatch, lane: int) -> bool:
        """Write the next window into a lane; returns whether it was the last one."""
        rows, at = self.rows, self._at
        count = min(batch.mask.shape[1], len(rows) - at)
        for name in ("obs", "action", "last", "fresh", "legal"):
            if (column := getattr(rows, name)) is not None:
                getattr(batch, name)[lane, :count] = column[at : at + count]
        batch.mask[lane, :count] = True
        batch.game[lane] = self._game
        self._at += count
        return self._at == len(rows)


def _empty(lanes: int, length: int, rows: Examples) -> WindowBatch:
    def zeros(column: NDArray[Any]) -> NDArray[Any]:
        return np.zeros((lanes, length, *column.shape[1:]), column.dtype)

    return WindowBatch(
        zeros(rows.obs),
        zeros(rows.action),
        zeros(rows.last),
        mask=zeros(rows.fresh),
        fresh=zeros(rows.fresh),
        game=np.full(lanes, NO_GAME),
        legal=None if rows.legal is None else zeros(rows.legal),
    )


def _joined(parts: Sequence[Examples]) -> Examples:
    return _each_column(lambda *columns: np.concatenate(columns), *parts)


def _taken(batch: Examples, rows: NDArray[np.int64]) -> Examples:
    return _each_column(lambda column: column[rows], batch)


def _each_column(make: Callable[..., NDArray[Any]], *parts: Examples) -> Examples:
    columns = ([getattr(part, field.name) for part in parts] for field in fields(Examples))
    made: list[Any] = [None if column[0] is None else make(*column) for column in columns]
    return Examples(*made)
