"""Rates generations while training goes on: plans matchups, has them played by a runner, keeps the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint.store import writing
from selfplay.league.gate import SHARE, Gate, GateState
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.schedule import repeat
from selfplay.report.metrics import GateReport, RatingReport
from selfplay.report.rating_events import write_ratings
from selfplay.runner.work_queue import Job, WorkQueue
from selfplay.seeding import derive
from selfplay.train.rating import LedgerKeeper, Rated, RatingBudget, highest, plan_games

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.league.games import GameTable
    from selfplay.league.records import MatchRecord
    from selfplay.league.rewards import RewardRecord
    from selfplay.league.schedule import Matchup
    from selfplay.train.progress import Progress

RATER: Final = "rater-000"
ROUND: Final = 32  # games side by side, planned from the ratings after the round before
MOST: Final = 256  # games between two iterations while training
EACH: Final = 8  # games per generation that are worth starting for: loading a policy costs the same for fewer
LEAST: Final = 8  # matchups of the last generation, also where the share is spent
COST_S: Final = 0.05  # of a game that is not played in real time, before any was played
DURING: Final = 0.6  # part of the share that is spent while training; the rest is for the last generation
Play = Callable[["Sequence[Matchup]", int, Callable[[], bool]], "Sequence[MatchRecord | RewardRecord]"]
"""Plays matchups, blocking: ``(matchups, iteration, stop)``; games that fail are left out, and so are those after
``stop()`` has returned true."""


class RaterResource:
    """What the rating runner works on.

    Args:
        kill: Ends games by force; returns whether that frees a thread that hangs in one.
    """

    def __init__(self, run: RunDir, rated: Rated, play: Play, kill: Callable[[], bool] = lambda: False) -> None:
        self._run = run
        self._rated = rated
        self._play = play
        self._kill = kill
        self._cancelled = False

    def work(
        self,
        games: GameTable,
        players: Sequence[str],
        budget: int,
        iteration: int,
        test: tuple[str, str] | None = None,
    ) -> Sequence[MatchRecord | RewardRecord]:
        """Plan and play at most ``budget`` games; the two policies under ``test`` get their share. Blocks."""
        rated = self._rated
        rng = np.random.default_rng(derive(rated.seed, "rating", iteration, len(games)))
        matchups = [] if test is None else repeat(*test, int(SHARE * budget), rng, rated.games_each)
        budget -= len(matchups) * rated.games_each
        matchups += plan_games(games, rated, players, budget, rng, self._run.path)
        return self._play(matchups, iteration, lambda: self._cancelled) if matchups else []

    def cancel(self) -> None:
        self.kill()

    def kill(self) -> bool:
        self._cancelled = True
        return self._kill()

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RatingPlan:
    """Which games a rater plays, and how many."""

    rated: Rated
    share: float  # of the run's time
    cost_s: float  # of a game, before any was played
    frames_per_step: int = 0
    cap_frames: int = 0  # of a game
    by_frames: bool = False  # whether the budget counts frames instead of seconds, for runs that must be equal
    live: bool = False  # whether games are played in real time, where a few are worth starting for
    gate: Gate | None = None


class Rater:
    """Rates generations while training goes on.

    Args:
        queue: Where the rating runner takes jobs.
        notify: Called with notices.
    """

    def __init__(
        self,
        run: RunDir,
        plan: RatingPlan,
        ledger: LedgerKeeper,
        queue: WorkQueue[RaterResource],
        notify: Callable[[str], None],
    ) -> None:
        self.gate = plan.gate
        self.budget = RatingBudget(plan.share, plan.cap_frames, by_frames=plan.by_frames, cost_s=plan.cost_s)
        self.newest_elo: float | None = None
        self.rating: RatingReport | None = None
        self._run = run
        self._plan = plan
        self._ledger = ledger
        self._queue = queue
        self._notify = notify

    @property
    def rows(self) -> int:
        return self._ledger.rows

    def state(self) -> dict[str, JsonValue]:
        """For the checkpoint; the ledger has the rest."""
        gate = {} if self.gate is None else {"gate": self.gate.state.model_dump(mode="json")}
        return {"rating_spent": self.budget.spent, "elo": self.newest_elo, **gate}

    def restore(self, state: Mapping[str, JsonValue]) -> None:
        """From a checkpoint; one of a run that was not rated leaves things as they are."""
        match state:
            case {"rating_spent": float(spent), "elo": float() | None as elo}:
                self.budget.spent, self.newest_elo = spent, elo
        if self.gate is not None and "gate" in state:
            self.gate.state = GateState.model_validate(state["gate"])

    def gate_report(self) -> GateReport | None:
        match self.gate:
            case Gate(state=GateState(candidate=str(candidate), best=best, llr=float(llr)), bounds=bounds):
                return GateReport(candidate=candidate, best=best, llr=llr, low=bounds.low, high=bounds.high)
        return None

    @property
    def tested(self) -> set[str]:
        state = GateState() if self.gate is None else self.gate.state
        return {name for name in (state.best, state.candidate) if name is not None}

    async def strengths(self, generations: Sequence[str]) -> dict[str, float]:
        """Elo of those generations that have rating games."""
        return await self._ledger.strengths(self._plan.rated, generations, self._run.path)

    async def best(self, generations: Sequence[str]) -> str | None:
        """The generation that passed the gate, or else the highest rated, the newer of equals; None without games."""
        if self.gate is not None:
            return self.gate.state.best
        return highest(await self.strengths(generations))

    async def write_rest(self) -> None:
        """Games that the disk did not take before; DiskError where it does not now."""
        await self._ledger.record([])

    async def rate_if_due(self, progress: Progress) -> None:
        """Play rounds of games when the budget allows one that is worth it."""
        if len(progress.generations) < 2:
            return
        worth = self._plan.rated.games_each if self._plan.live else min(EACH * len(progress.generations), ROUND)
        if (games := self._affordable(progress, DURING)) >= worth:
            await self._rate(progress, progress.generations, min(games, MOST), DURING)

    async def rate_last(self, progress: Progress) -> None:
        """Spend what is left of the share on a ladder that has the last generation in it."""
        players = [*progress.generations]
        if progress.newest not in players:
            players.append(progress.newest)
        least = self._plan.rated.games_each * (1 if self._plan.live else LEAST)
        await self._rate(progress, players, max(self._affordable(progress, 1.0), least), 1.0)

    def _affordable(self, progress: Progress, part: float) -> int:
        return self.budget.games(progress.elapsed_s, progress.total_steps * self._plan.frames_per_step, part)

    async def _rate(self, progress: Progress, generations: list[str], games: int, part: float) -> None:
        """Play at most ``games`` in rounds, fewer where they take longer than expected, and publish the ratings."""
        players = [*generations, *self._plan.rated.anchors]
        test = None if self.gate is None else self.gate.challenge(generations)
        played = await self._round(progress, players, min(games, ROUND), test)
        while (
            played and (games := min(games - played, self._affordable(progress, part))) >= self._plan.rated.games_each
        ):
            played = await self._round(progress, players, min(games, ROUND), test)
        started = time.monotonic()
        try:
            board, decided = await self._ledger.work(self._judge, await self._ledger.games())
            if decided is not None:
                self._notify(decided)
            row = next((row for row in board.rows if row.policy == progress.newest), None)
            if row is not None:
                self.newest_elo = row.elo
                self.rating = RatingReport(
                    generation=row.policy,
                    elo=row.elo,
                    low=row.elo if row.low is None else row.low,
                    high=row.elo if row.high is None else row.high,
                    iteration=progress.iteration,
                    elapsed_s=progress.elapsed_s,
                )
            await self._ledger.work(self._publish, board, progress.total_steps)
        finally:  # tables take the longer the more games there are
            self.budget.pay(0, time.monotonic() - started)

    async def _round(self, progress: Progress, players: list[str], games: int, test: tuple[str, str] | None) -> int:
        """Plan and play games and write them down; returns how many were played."""
        started = time.monotonic()
        records: Sequence[MatchRecord | RewardRecord] = ()
        try:
            known = await self._ledger.games()
            job: Job[RaterResource] = Job(
                lambda r: r.work(known, players, games, progress.iteration, test), timed=False
            )
            records = (await self._queue.ask({RATER: job})).get(RATER, [])
            if records:
                await self._ledger.record(records)
        finally:
            self.budget.pay(max(len(records), 1), time.monotonic() - started)
        return len(records)

    def _judge(self, games: GameTable) -> tuple[Leaderboard, str | None]:
        """The table of now, and what the gate decided. Blocks."""
        decided = None if self.gate is None else self._decide(self.gate, games)
        return build(games, run=self._run.path), decided

    def _publish(self, board: Leaderboard, total_steps: int) -> None:
        """Write which generation is best, and the table of TensorBoard. Blocks."""
        run = self._run
        if self.gate is not None:
            run.write_best(self.gate.state.model_dump(mode="json"))
        with writing(f"cannot write {run.rating_events}"):
            write_ratings(run.rating_events, board, total_steps)

    def _decide(self, gate: Gate, games: GameTable) -> str | None:
        best = gate.state.best
        found = gate.decide(games.comparable(self._plan.rated.settings).games)
        if found is None or found[1].state == "open":
            return None
        candidate, test = found
        became = f"{candidate} is best now" if test.state == "accepted" else f"{best} stays best"
        return f"Gate: {candidate} against {best}, {test.pairs} pairs, LLR {test.llr:+.2f}: {became}"


def prepare_best(run: RunDir, resumed: LearnerState | None) -> None:
    """Write which generation is best before the first game of a gate: none, or the one of the state. Blocks."""
    state = resumed.meta.extra.get("gate") if resumed else None
    gate = GateState() if state is None else GateState.model_validate(state)
    run.write_best(gate.model_dump(mode="json"))
