"""The ledger of a run while it trains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from selfplay.errors import RunnerError
from selfplay.league.anchors import strengths
from selfplay.league.ledger import Ledger
from selfplay.runner.worker import Worker

if TYPE_CHECKING:
    from selfplay.league.anchors import RatingConditions
    from selfplay.league.games import GameTable
    from selfplay.league.records import GameRecord
    from selfplay.supervision import Context

T = TypeVar("T")
CLOSE_S: Final = 5.0  # timeout for closing the file at the end of the child
WAITING: Final = 10_000  # games that wait for room on the disk at most


@dataclass(eq=False)
class RunLedger:
    """The one owner of a run's ledger: a supervised child, and what others ask of it."""

    path: Path
    keep_rows: int | None = None  # drops games behind a checkpoint, for runs that play them again bit for bit
    _worker: Worker | None = None
    _ledger: Ledger | None = None
    _waiting: list[GameRecord] = field(default_factory=list)  # played, but the disk did not take them
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _fitted_rows: int = -1  # of ``_strengths``
    _strengths: dict[str, float] = field(default_factory=dict)  # of all players

    async def run(self, ctx: Context) -> None:
        """The child: holds the file open until it is stopped."""
        self._worker = worker = Worker(ctx.id)
        try:
            self._ledger = await worker.submit(Ledger.open, self.path, self.keep_rows)
            self.keep_rows = None  # once: after a crash of this child nothing is lost
            self._open.set()
            ctx.ready()
            await asyncio.Event().wait()
        finally:
            self._open.clear()
            if self._ledger is not None:
                closed = worker.submit(self._ledger.close)
                with suppress(TimeoutError):  # the next start needs the file's lock
                    async with asyncio.timeout(CLOSE_S):
                        await closed
            worker.close()

    @property
    def rows(self) -> int:
        return 0 if self._ledger is None else self._ledger.rows

    async def games(self) -> GameTable:
        worker, ledger = await self._opened()
        return await worker.submit(ledger.games)

    async def record(self, records: Sequence[GameRecord]) -> GameTable:
        """Append games; returns all games when the disk has them.

        After a DiskError they are kept, the newest ``WAITING`` of them, and written before the next ones.
        """
        await self._opened()
        self._waiting = [*self._waiting, *records][-WAITING:]
        await self.write_rest()
        return await self.games()

    async def write_rest(self) -> None:
        """Write games that the disk did not take before; DiskError where it does not now."""
        worker, ledger = await self._opened()
        await worker.submit(ledger.append, self._waiting)
        self._waiting = []

    async def strengths(
        self, conditions: RatingConditions, generations: Collection[str], run: Path
    ) -> dict[str, float]:
        """Ratings of those generations that have rating games; refitted only after new games."""
        await self._opened()
        rows = self.rows
        if self._fitted_rows != rows:
            self._strengths = await self.work(strengths, await self.games(), conditions, run)
            self._fitted_rows = rows
        return {name: rating for name, rating in self._strengths.items() if name in generations}

    async def work(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:  # noqa: ANN401
        """Run a function on the ledger's worker thread and return its result.

        A single thread, since each thread of a pool would keep the memory that such work once needed.
        """
        worker, _ = await self._opened()
        return await worker.submit(partial(function, *arguments, **named))

    async def _opened(self) -> tuple[Worker, Ledger]:
        await self._open.wait()
        if self._worker is None or self._ledger is None:
            raise RunnerError("the ledger is not open")
        return self._worker, self._ledger
