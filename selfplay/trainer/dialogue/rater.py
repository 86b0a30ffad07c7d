"""Rates the generations of a run of words while it trains: within a share of its time, by a runner of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint.store import writing
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.rewards import RewardRecord
from selfplay.report.rating_events import write_ratings
from selfplay.runner.board import Board, Job
from selfplay.seeding import derive
from selfplay.trainer.dialogue.rating import Contenders, play_words
from selfplay.trainer.rating import LedgerKeeper, RatingBudget, highest, plan_games

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.league.games import Games
    from selfplay.trainer.dialogue.session import WordsSession
    from selfplay.trainer.progress import Progress

RATER: Final = "rater-000"
BATCH: Final = 256  # comparisons at once at most
EACH, ENOUGH = 8, 96  # comparisons a generation, or in all, worth starting for: a model is read for few or many
COST_S: Final = 0.05  # of a comparison, before any was played
DURING: Final = 0.6  # part of the share that is spent while training; the rest is for the last generation


class WordsRaterResource:
    """What the rating runner works on (``Resource``)."""

    def __init__(self, session: WordsSession) -> None:
        self._session = session
        self._rating = session.rating
        self._cancelled = False

    def work(self, games: Games, players: Sequence[str], budget: int, iteration: int, part: int) -> list[RewardRecord]:
        """Plan and play at most ``budget`` comparisons. Blocks."""
        session, rating = self._session, self._rating
        rng = np.random.default_rng(derive(rating.seed, "rating", iteration, part))
        fixtures = plan_games(games, rating, players, budget, rng, session.run.path)
        # Models are read anew each time: a learner that crashed makes other generations of the same names.
        contenders = Contenders(session.config, session.run, session.device)
        return play_words(fixtures, contenders, rating, iteration, lambda: self._cancelled)

    def cancel(self) -> None:
        """See ``Resource``."""
        self._cancelled = True

    def kill(self) -> bool:
        """A thread cannot be killed; it stops at its next round."""
        self._cancelled = True
        return False

    def close(self) -> None:
        """See ``Resource``."""


class WordsRater:
    """What the training loop asks to rate."""

    def __init__(self, session: WordsSession, ledger: LedgerKeeper, board: Board[WordsRaterResource]) -> None:
        self.budget = RatingBudget(session.config.league.rating_share, 0, by_frames=False, cost_s=COST_S)
        self.newest_elo: float | None = None
        self._session = session
        self._rating = session.rating
        self._ledger = ledger
        self._board = board

    def state(self) -> dict[str, JsonValue]:
        """For the checkpoint; the ledger has the rest."""
        return {"rating_spent": self.budget.spent, "elo": self.newest_elo}

    def restore(self, state: Mapping[str, JsonValue]) -> None:
        """From a checkpoint; one of a run that was not rated leaves things as they are."""
        match state:
            case {"rating_spent": float(spent), "elo": float() | None as elo}:
                self.budget.spent, self.newest_elo = spent, elo

    async def best(self, generations: Sequence[str]) -> str | None:
        """The generation that is rated highest, the newest of equals; None before any game."""
        return highest(await self._ledger.strengths(self._rating, generations, self._session.run.path))

    async def write_rest(self) -> None:
        """Games that the disk did not take before; DiskError where it does not now."""
        await self._ledger.record([])

    async def rate_if_due(self, progress: Progress) -> None:
        """Play a batch when the budget allows one that is worth it."""
        if len(progress.generations) < 2:
            return
        games = self.budget.games(progress.elapsed_s, 0, DURING)
        if games >= min(EACH * len(progress.generations), ENOUGH):
            await self._play(progress, min(games, BATCH), 0)

    async def rate_last(self, progress: Progress) -> None:
        """Spend what is left of the share on a ladder that has the last generation in it."""
        part, each = 1, self._rating.games_each
        while (games := self.budget.games(progress.elapsed_s, 0)) >= each or part == 1:
            await self._play(progress, min(max(games, 8 * each), BATCH), part)
            part += 1

    async def _play(self, progress: Progress, games: int, part: int) -> None:
        players = [*progress.generations, *self._rating.anchors]
        started, records = time.monotonic(), list[RewardRecord]()
        try:
            known = await self._ledger.games()
            job: Job[WordsRaterResource] = Job(
                lambda rater: rater.work(known, players, games, progress.iteration, part), timed=False
            )
            records = (await self._board.ask({RATER: job})).get(RATER, [])
            await self._rate(records, progress)
        finally:  # all of it: what is made of the games takes the longer the more of them there are
            self.budget.pay(max(len(records), 1), time.monotonic() - started)

    async def _rate(self, records: Sequence[RewardRecord], progress: Progress) -> None:
        if records:
            await self._ledger.record(records)
        known = await self._ledger.games()
        if len(known):
            board = await self._ledger.work(build, known, run=self._session.run.path)
            self.newest_elo = next((row.elo for row in board.rows if row.policy == progress.newest), self.newest_elo)
            await self._ledger.work(self._publish, board, progress)

    def _publish(self, board: Leaderboard, progress: Progress) -> None:
        """The curves of TensorBoard. Blocks."""
        events = self._session.run.rating_events
        with writing(f"cannot write {events}"):
            write_ratings(events, board, progress.total_steps // max(progress.iteration, 1))
