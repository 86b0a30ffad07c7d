"""The supervision tree of a training run: the only place that knows every part.

root  rest_for_one
  ledger     permanent  the one writer of the ledger; only where games are rated
  runners    permanent  a pool; the learner starts its children
    runner-000 ..       blocks of training games
    rater-000           rating games
  learner    transient, significant: its normal end is the end of the run
  reporting  permanent, a supervisor with a budget of its own: a broken terminal ends nothing else
    feed     transient
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import group
from selfplay.policy.memory import Ask, directly
from selfplay.policy.together import Together
from selfplay.runner.block import Block
from selfplay.runner.board import FIRST_TIMEOUT_S, Board, Limits
from selfplay.runner.game_runner import GameRunner, SlowOpening, Turns
from selfplay.runner.hosted import HostedBlock, Opening, open_block
from selfplay.runner.remote import RemoteBlock, Shelf
from selfplay.seeding import derive
from selfplay.supervision import ChildSpec, Context, PoolSpec, Supervisor, SupervisorSpec
from selfplay.trainer.announcing import Announcer
from selfplay.trainer.live import limits, opens_within_s, park_policy
from selfplay.trainer.loop import TrainingLoop
from selfplay.trainer.machine import usable_cores
from selfplay.trainer.rater import RATER, Rater, RaterResource
from selfplay.trainer.rating import LedgerKeeper
from selfplay.trainer.runners import GRACE_S, NODES_BACK_S, PARK, PARK_ELSEWHERE, Runners
from selfplay.trainer.session import update_threads

if TYPE_CHECKING:
    from selfplay.report.reporter import Feed
    from selfplay.runner.segment import Games
    from selfplay.trainer.session import Session

OPENING: Final = max(2, usable_cores())  # emulators that start at once
TURN_S: Final = 5.0  # after which the next one may start: one that hangs must not keep the others from it


class Tree:
    """Everything of a run, wired together. Built inside the event loop."""

    def __init__(self, session: Session, feed: Feed, stop: asyncio.Event) -> None:
        config = session.config
        self._session = session
        self._feed = feed
        self._announced = False
        self._reached: Counter[str] = Counter()  # actors of each runner that were there
        live = session.game.live
        elsewhere = session.cluster is not None
        self._shelf = None if session.cluster is None else Shelf(session.cluster.put)
        self._park = park_policy(config) if live else PARK_ELSEWHERE if elsewhere else PARK
        self._ask: Ask = Together() if live else directly
        turns = Turns(OPENING, TURN_S)
        begins_s = opens_within_s(config) if live else 0.0
        self._opening = SlowOpening(turns, Block.begin, begins_s) if live else None
        if elsewhere:  # where an actor begins slowly, and rules may have to be compiled
            self._opening = SlowOpening(turns, RemoteBlock.open, FIRST_TIMEOUT_S + begins_s)
        self.board: Board[Games] = Board(
            session.blocks, config.run.collect_timeout, limits(config) if live else None, leave_behind=live,
            patience_s=NODES_BACK_S if config.run.ray_address else 0.0,
        )  # fmt: skip
        # rating games in emulators have deadlines of their own, each of them
        self._rater_board: Board[RaterResource] = Board([RATER], limits=Limits(math.inf, math.inf) if live else None)
        rated = config.league.track_elo
        keep = session.resumed.meta.ledger_position if session.resumed and config.run.deterministic else None
        self._ledger = LedgerKeeper(session.run.ledger, keep)
        self.rater = Rater(session, self._ledger, self._rater_board, feed.notice) if rated else None
        threads = update_threads(config.run)
        self.loop = TrainingLoop(session, self.board, self.rater, feed, stop, threads, self.start_runners)
        boards: dict[str, Board[Any]] = dict.fromkeys(session.blocks, self.board)
        self.announcer = Announcer(feed, boards | {RATER: self._rater_board}, self._count_restart)
        self.root = Supervisor(self._spec(), on_report=self.announcer.tell)

    def _spec(self) -> SupervisorSpec:
        park = self._park
        budget = 10 * (len(self._session.blocks) + 1) * park.period_s / PARK.period_s
        pool = PoolSpec(intensity=round(budget), period_s=park.period_s, park=park)
        children = [
            ChildSpec("ledger", self._ledger.run),
            ChildSpec("runners", pool),
            ChildSpec("learner", self.loop.run, restart="transient", significant=True, shutdown_s=GRACE_S),
            ChildSpec(
                "reporting",
                SupervisorSpec(children=(ChildSpec("feed", self._deliver, restart="transient"),), intensity=100),
            ),
        ]
        if self.rater is None:
            children = children[1:]
        return SupervisorSpec(
            children=tuple(children), strategy="rest_for_one", intensity=3, period_s=60.0,
            auto_shutdown="any_significant",
        )  # fmt: skip

    def _runner_specs(self) -> dict[str, ChildSpec]:
        runner = GameRunner(self.board, self._open_block, self._opening)
        specs = {
            name: ChildSpec(name, runner.child(), start_timeout_s=FIRST_TIMEOUT_S) for name in self._session.blocks
        }
        if self.rater is not None:
            rater = GameRunner(self._rater_board, lambda *_: RaterResource(self._session, self._feed.notice, self._ask))
            specs[RATER] = ChildSpec(RATER, rater.child())
        return specs

    async def start_runners(self) -> None:
        """Start the runners that the pool does not have: all of them, unless only the learner was restarted."""
        prepare = self._session.game.prepare
        if prepare is None and self._shelf is not None:
            prepare = self._compile
        if prepare is not None:
            with self._compilation():
                await asyncio.to_thread(prepare)
        runners = Runners(self.root)
        for name, spec in self._runner_specs().items():
            if name not in runners.ids():
                await runners.start(spec)

    async def _deliver(self, ctx: Context) -> None:
        ctx.ready()
        await self._feed.run()

    def _open_block(self, runner: str, incarnation: int) -> Games:
        """Make a block of games, in the runner's thread; the first one of a resumed run continues its games."""
        cluster = self._session.cluster
        if cluster is not None and self._shelf is not None:
            return RemoteBlock(cluster.link(HostedBlock, runner), self._shelf, lambda: self._opening_elsewhere(runner))
        with self._compilation():
            return open_block(self._opening_of(runner, incarnation), self._ask)

    def _opening_elsewhere(self, runner: str) -> Opening:
        """Of the next games: actors that found no place, or died before they had any, do not count."""
        self._reached[runner] += 1
        return self._opening_of(runner, self._reached[runner])

    def _opening_of(self, runner: str, incarnation: int) -> Opening:
        session = self._session
        config, live = session.config, session.game.live
        snapshot: Any = {}, {}
        if session.resumed is not None and incarnation == 1 and runner not in self.loop.unplayable:
            document = session.resumed.meta.opponents.get(runner, {})
            snapshot = group(session.resumed.arrays, f"games/{runner}"), document
        return Opening(
            game=config.game.type,
            options=session.block_options(runner),
            seed=derive(config.run.seed, runner, incarnation),
            process=live or config.run.host == "process",
            start_timeout_s=config.emulator.start_timeout if live else None,
            live=live,
            snapshot=snapshot,
        )

    @contextmanager
    def _compilation(self) -> Iterator[None]:
        """Say so, once, when the first use of the rules will compile them."""
        if self._session.game.starts_at_once() or self._announced:
            yield
            return
        self._announced = True
        self._feed.notice("Compiling the game rules for this machine (the first time only, about half a minute) ...")
        started = time.monotonic()
        yield
        self._feed.notice(f"Compiled the game rules in {time.monotonic() - started:.1f} s")

    def _compile(self) -> None:
        """What all actors of this machine need, once."""
        if not self._session.game.starts_at_once():
            first = self._opening_of(next(iter(self._session.blocks)), 0)
            open_block(first).close()

    def _count_restart(self, runner: str) -> None:
        self.loop.progress.restarts += runner in self._session.blocks
        self.loop.progress.chaos.failed(runner)
