"""The supervision tree of self-play in words.

root  rest_for_one
  serving    permanent  only with --server: a supervisor of the program that writes the replies
  ledger     permanent  the one writer of the ledger; only where games are rated
  runners    permanent  a pool; the learner starts its children
    runner-000 ..       games
    rater-000           rating games
  learner    transient, significant: its normal end is the end of the run
  reporting  permanent, a supervisor with a budget of its own
    feed     transient
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from selfplay.runner.board import FIRST_TIMEOUT_S, Board, Limits
from selfplay.runner.collector import DialogueCollector
from selfplay.runner.game_runner import GameRunner
from selfplay.runner.hosted_words import Published, Words
from selfplay.supervision import ChildSpec, Context, PoolSpec, Supervisor, SupervisorSpec
from selfplay.trainer.announcing import Announcer
from selfplay.trainer.dialogue.elsewhere import Elsewhere
from selfplay.trainer.dialogue.loop import WordsLoop
from selfplay.trainer.dialogue.players import writer_of
from selfplay.trainer.dialogue.rater import RATER, WordsRater, WordsRaterResource
from selfplay.trainer.rating import LedgerKeeper
from selfplay.trainer.runners import GRACE_S, NODES_BACK_S, PARK, PARK_ELSEWHERE, Runners

if TYPE_CHECKING:
    import asyncio

    from selfplay.policy.language.conversation import Writer
    from selfplay.report.reporter import Feed
    from selfplay.trainer.dialogue.session import WordsSession


class WordsTree:
    """Everything of a run, wired together. Built inside the event loop."""

    def __init__(self, session: WordsSession, feed: Feed, stop: asyncio.Event) -> None:
        self._session = session
        self._feed = feed
        cluster = session.cluster
        weights = None if cluster is None else Published(cluster.put)
        self._elsewhere = None if cluster is None or weights is None else Elsewhere(session, cluster, weights)
        patience_s = NODES_BACK_S if session.config.run.ray_address else 0.0
        self.board: Board[Words] = Board(
            session.runners, limits=Limits(FIRST_TIMEOUT_S, FIRST_TIMEOUT_S), patience_s=patience_s
        )
        # How long a batch takes that reads models first tells nothing about the next one.
        self._rater_board: Board[WordsRaterResource] = Board([RATER], limits=Limits(math.inf, math.inf))
        self._ledger = LedgerKeeper(session.run.ledger)
        rated = session.config.league.track_elo
        self.rater = WordsRater(session, self._ledger, self._rater_board) if rated else None
        self.loop = WordsLoop(session, self.board, self.rater, feed, stop, self.start_runners, weights)
        boards: dict[str, Board[Any]] = dict.fromkeys(session.runners, self.board)
        self.announcer = Announcer(feed, boards | {RATER: self._rater_board}, self._count_restart)
        self.root = Supervisor(self._spec(), on_report=self.announcer.tell)

    def _spec(self) -> SupervisorSpec:
        self._park = PARK if self._elsewhere is None else PARK_ELSEWHERE
        budget = 10 * (len(self._session.runners) + 1)
        feed = SupervisorSpec(children=(ChildSpec("feed", self._deliver, restart="transient"),), intensity=100)
        server = self._session.server
        ledger = (ChildSpec("ledger", self._ledger.run),) if self.rater is not None else ()
        children = (
            *(() if server is None else (server.spec(),)),
            *ledger,
            ChildSpec("runners", PoolSpec(intensity=budget, period_s=self._park.period_s, park=self._park)),
            ChildSpec("learner", self.loop.run, restart="transient", significant=True, shutdown_s=GRACE_S),
            ChildSpec("reporting", feed),
        )
        return SupervisorSpec(
            children=children, strategy="rest_for_one", intensity=3, period_s=60.0, auto_shutdown="any_significant"
        )

    async def start_runners(self) -> None:
        """Start the runners that the pool does not have."""
        runners = Runners(self.root)
        runner = GameRunner(self.board, self._open)
        if self._elsewhere is not None:
            runner = GameRunner(self.board, self._elsewhere.open, self._elsewhere.opening)
        for name in self._session.runners:
            if name not in runners.ids():
                await runners.start(ChildSpec(name, runner.child(), start_timeout_s=FIRST_TIMEOUT_S))
        if self.rater is not None and RATER not in runners.ids():
            rater = GameRunner(self._rater_board, self._open_rater)
            await runners.start(ChildSpec(RATER, rater.child()))

    def _open(self, runner: str, incarnation: int) -> DialogueCollector:
        """What a runner works on, made in its thread."""
        del runner, incarnation  # they are all alike
        torch.set_num_threads(1)  # of this thread: runners share the cores
        return DialogueCollector(self._session.entry, self._session.rules, self._writer)

    def _open_rater(self, runner: str, incarnation: int) -> WordsRaterResource:
        del runner, incarnation
        torch.set_num_threads(self._session.threads)  # nobody else works while it plays
        return WordsRaterResource(self._session)

    def _writer(self) -> Writer:
        session = self._session
        return writer_of(session.config, session.model, session.endpoint)

    async def _deliver(self, ctx: Context) -> None:
        ctx.ready()
        await self._feed.run()

    def _count_restart(self, runner: str) -> None:
        self.loop.progress.restarts += runner in self._session.runners
        self.loop.progress.chaos.failed(runner)
