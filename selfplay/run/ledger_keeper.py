"""The ledger of a run while it trains: its one owner, and ratings and plans that are made of its games."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import numpy as np

from selfplay.errors import RunnerError
from selfplay.league.anchors import find_table
from selfplay.league.games import GameTable
from selfplay.league.ledger import Ledger
from selfplay.league.ratings import Ratings, rate
from selfplay.league.records import GameRecord, generation_number
from selfplay.league.schedule import LAST_WEIGHT, NEWEST_WEIGHT, Matchup, plan
from selfplay.runner.worker import Worker

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.league.anchors import AnchorTable, Origin
    from selfplay.supervision import Context

T = TypeVar("T")
CLOSE_S: Final = 5.0  # timeout for closing the file at the end of the child
WAITING: Final = 10_000  # games that wait for room on the disk at most


class LedgerKeeper:
    """The one owner of a run's ledger: a supervised child, and what others ask of it."""

    def __init__(self, path: Path, keep_rows: int | None = None) -> None:
        """``keep_rows`` drops games behind a checkpoint, for runs that play them again bit for bit."""
        self._path = path
        self._keep_rows = keep_rows
        self._worker: Worker | None = None
        self._ledger: Ledger | None = None
        self._waiting: list[GameRecord] = []  # played, but the disk did not take them
        self._open = asyncio.Event()
        self._fitted: tuple[int, dict[str, float]] = (-1, {})  # number of rows, and the Elo of all players

    async def run(self, ctx: Context) -> None:
        """The child: holds the file open until it is stopped."""
        self._worker = worker = Worker(ctx.id)
        try:
            self._ledger = await worker.submit(Ledger.open, self._path, self._keep_rows)
            self._keep_rows = None  # once: after a crash of this child nothing is lost
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

    async def record(self, records: Sequence[GameRecord]) -> None:
        """Append games; returns when the disk has them.

        Raises:
            DiskError: it refused; they are kept, the newest ``WAITING`` of them, and written before the next ones.
        """
        worker, ledger = await self._opened()
        self._waiting = [*self._waiting, *records][-WAITING:]
        await worker.submit(ledger.append, self._waiting)
        self._waiting = []

    async def strengths(self, settings: Rated, generations: Collection[str], run: Path) -> dict[str, float]:
        """Elo of those generations that have rating games; refitted only after new games."""
        await self._opened()
        rows = self.rows
        if self._fitted[0] != rows:
            self._fitted = rows, await self.work(strengths, await self.games(), settings, run)
        return {name: elo for name, elo in self._fitted[1].items() if name in generations}

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


class Rated(Protocol):
    """Settings that determine which games are rated together, and how many games a pair plays."""

    @property
    def described(self) -> dict[str, JsonValue]:
        """Everything that makes games comparable."""

    @property
    def settings(self) -> str:
        """Hash of it."""

    @property
    def group(self) -> str:
        """The same with how actions are drawn, as in ``Games.groups``."""

    @property
    def games_each(self) -> int:
        """Games of a fixture."""

    @property
    def anchors(self) -> tuple[str, ...]:
        """Players that are rated beside the generations."""

    @property
    def seed(self) -> int: ...


def comparable(games: GameTable, settings: Rated) -> GameTable:
    """The games that are rated under these settings; of a pinned policy only those of the weights that are pinned."""
    return _comparable(games, settings, find_table(settings.settings))


def _comparable(
    games: GameTable, settings: Rated, found: tuple[AnchorTable, Origin] | None, keep: Sequence[str] = ()
) -> GameTable:
    if settings.group not in games.groups:
        return GameTable.of([])
    return games.comparable(settings.group, keep, None if found is None else found[0].policies).games


def plan_games(
    games: GameTable,
    settings: Rated,
    players: Sequence[str],
    budget: int,
    rng: np.random.Generator,
    run: Path | None = None,
    *,
    last: bool = False,
) -> list[Matchup]:
    """The most informative matchups, for at most ``budget`` games.

    Args:
        games: of the ledger.
        settings: under which games are rated together.
        players: generations and anchors.
        budget: games, at most.
        rng: breaks ties and draws the seeds.
        run: folder that may have a table of anchors.
        last: whether training has ended; then nearly all games are to tell the strength of the newest generation.
    """
    ratings = rated(games, settings, players, run)
    return plan(ratings, players, budget, rng, settings.games_each, LAST_WEIGHT if last else NEWEST_WEIGHT)


def rated(games: GameTable, settings: Rated, players: Sequence[str], run: Path | None = None) -> Ratings:
    """Ratings under these settings; ``players`` are part of them even without games."""
    found = find_table(settings.settings, run)
    chosen = _comparable(games, settings, found, players)
    return rate(chosen, players=players, anchors=None if found is None else found[0].pinned(chosen))


def strengths(games: GameTable, settings: Rated, run: Path | None = None) -> dict[str, float]:
    ratings = rated(games, settings, (), run)
    return {name: float(ratings.elo[i]) for i, name in enumerate(ratings.players) if ratings.games[i]}


def highest(strengths: Mapping[str, float]) -> str | None:
    """The strongest generation, the newest of equals; None without any."""
    return max(strengths, key=lambda name: (strengths[name], generation_number(name) or 0), default=None)
