"""Rating games while training goes on: planned from the ledger, played by a runner, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.anchors import comparable, find_table, highest
from selfplay.league.gate import SHARE, Gate, GateState
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.schedule import plan_games, repeat, scores_against
from selfplay.report.metrics import GateReport, RatingReport, ScoreAgainst
from selfplay.runner.work_queue import Job, Limits, WorkQueue
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.league.anchors import RatingConditions
    from selfplay.league.games import GameTable
    from selfplay.league.records import GameRecord
    from selfplay.league.schedule import Matchup
    from selfplay.run.ledger import RunLedger
    from selfplay.run.progress import Progress

RATER: Final = "rater-000"  # the runner that plays them
RATING_STATE: Final = ("rating_spent", "gate")
"""Keys of a checkpoint's ``extra`` that belong to ratings."""
EVERY_S: Final = 15.0  # of training between two blocks of rating games
ADVANCE_S: Final = 30.0  # of which blocks may spend the share in advance, so that one that took long delays no other
GAMES_PER_ROUND: Final = 256  # games side by side, planned from the ratings after the round before
MIN_GAMES_AT_ONCE: Final = 8  # games that are worth starting for: loading policies costs the same for fewer
GAMES_PER_GENERATION: Final = 8  # the same for each generation, where blocks follow the budget and not the time
MIN_GAMES_OF_ALL: Final = 32  # and for all of them together
LAST_MATCHUPS: Final = 8  # matchups of the last generation, also where the share is spent
COST_S: Final = 0.05  # of a game that is not played in real time, before any was played
SHARE_WHILE_TRAINING: Final = 0.6  # part of the share that is spent while training; the rest is for the last generation
PlayMatchups = Callable[["Sequence[Matchup]", int, Callable[[], bool]], "Sequence[GameRecord]"]
"""Plays matchups, blocking: ``(matchups, iteration, stop)``; games that fail are left out, and so are those after
``stop()`` has returned true."""


class RatingBudget:
    """Number of rating games allowed now, so that rating takes no more than its share of the time.

    Time is measured in seconds or, in deterministic runs, in frames, with each game counted at its longest.
    """

    def __init__(self, share: float, cap_frames: int, *, by_frames: bool, cost_s: float = COST_S) -> None:
        """``cost_s``: seconds that a game is thought to take before any was played."""
        self._share = share
        self._cap_frames = cap_frames
        self._by_frames = by_frames
        self._cost = float(cap_frames) if by_frames else cost_s  # of a game, in the clock's unit; measured as it goes
        self.spent = 0.0

    def games(self, elapsed_s: float, frames: int, part: float = 1.0) -> int:
        """Games that fit now; ``part`` keeps some of the share for later."""
        total = float(frames) if self._by_frames else elapsed_s
        return max(0, int((self._share * part * total - self.spent) / self._cost))

    def games_of(self, seconds: float, part: float = 1.0) -> int:
        """Games that the share of some seconds pays for."""
        return int(self._share * part * seconds / self._cost)

    def pay(self, games: int, seconds: float) -> None:
        """Account for games, or for other work of rating where ``games`` is 0, which leaves the cost of a game."""
        if self._by_frames:
            self.spent += games * self._cap_frames
        else:
            self.spent += seconds
            if games:
                self._cost = 0.5 * self._cost + 0.5 * seconds / games


@dataclass(eq=False)
class RatingBlock:
    """Plans and plays rating games in the thread of their runner, and can be stopped."""

    run: RunDir  # may have a table of anchors
    conditions: RatingConditions
    play: PlayMatchups
    end_games: Callable[[], bool] = lambda: False  # by force; whether that frees a thread that hangs in one
    _cancelled: bool = False

    def work(
        self,
        games: GameTable,
        players: Sequence[str],
        budget: int,
        iteration: int,
        test: tuple[str, str] | None = None,
        *,
        last: bool = False,
    ) -> Sequence[GameRecord]:
        """Plan and play at most ``budget`` games. Blocks.

        ``players`` are generations by age, then scripted players by strength; ``test`` are the two policies under test,
        which get their share. ``last``: the training has ended.
        """
        each = self.conditions.games_each
        rng = np.random.default_rng(derive(self.conditions.seed, "rating", iteration, len(games)))
        matchups = [] if test is None else repeat(*test, int(SHARE * budget), rng, each)
        left = budget - len(matchups) * each
        matchups += plan_games(games, self.conditions, players, left, rng, self.run.path, last=last)
        return self.play(matchups, iteration, lambda: self._cancelled) if matchups else []

    def cancel(self) -> None:
        self.kill()

    def kill(self) -> bool:
        self._cancelled = True
        return self.end_games()

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RatingPlan:
    """Which rating games a run plays, how many, and what plays them."""

    conditions: RatingConditions
    open: Callable[[], RatingBlock]  # in the thread of their runner
    share: float  # of the run's time
    cost_s: float = COST_S  # of a game, before any was played
    limits: Limits | None = None
    frames_per_step: int = 0
    cap_frames: int = 0  # of a game
    deterministic: bool = False  # the budget counts frames instead of seconds
    real_time: bool = False  # games are played in real time: even a few are worth starting for
    gate: Gate | None = None


@dataclass(eq=False)
class RatingGames:
    """Plays and records games of the generations while training goes on, and rates them."""

    run: RunDir
    plan: RatingPlan
    ledger: RunLedger
    queue: WorkQueue[RatingBlock]  # where the runner of rating games takes jobs
    notice: Callable[[str], None]
    publish: Callable[[Leaderboard, int], object] = lambda *_: None  # a new table, with the total steps; may block
    rating: RatingReport | None = None
    _rated_at: float = 0.0  # seconds of the run

    def __post_init__(self) -> None:
        plan = self.plan
        self.gate = plan.gate
        self.budget = RatingBudget(plan.share, plan.cap_frames, by_frames=plan.deterministic, cost_s=plan.cost_s)

    def state(self) -> dict[str, JsonValue]:
        """For the checkpoint; the ledger has the rest."""
        gate = {} if self.gate is None else {"gate": self.gate.state.model_dump(mode="json")}
        return {"rating_spent": self.budget.spent, **gate}

    def restore(self, state: Mapping[str, JsonValue]) -> None:
        """From a checkpoint; one of a run that was not rated leaves things as they are."""
        match state:
            case {"rating_spent": float(spent)}:
                self.budget.spent = spent
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
        """Ratings of those generations that have rating games."""
        return await self.ledger.strengths(self.plan.conditions, generations, self.run.path)

    async def best(self, generations: Sequence[str]) -> str | None:
        """The generation that passed the gate, or else the highest rated, the newer of equals; None without games."""
        if self.gate is not None:
            return self.gate.state.best
        return highest(await self.strengths(generations))

    async def rate_if_due(self, progress: Progress) -> None:
        """Play a block of games when it is time for one and the budget allows it."""
        plan = self.plan
        if plan.deterministic:
            least, most, advance_s = (
                min(GAMES_PER_GENERATION * len(progress.generations), MIN_GAMES_OF_ALL),
                GAMES_PER_ROUND,
                0.0,
            )
        else:
            least = plan.conditions.games_each if plan.real_time else max(MIN_GAMES_AT_ONCE, plan.conditions.games_each)
            most, advance_s = max(least, self.budget.games_of(EVERY_S, SHARE_WHILE_TRAINING)), ADVANCE_S
            if progress.elapsed_s - self._rated_at < EVERY_S:
                return
        if progress.generations and (games := self._affordable(progress, SHARE_WHILE_TRAINING, advance_s)) >= least:
            self._rated_at = progress.elapsed_s
            await self._rate(progress, progress.generations, min(games, most, GAMES_PER_ROUND), SHARE_WHILE_TRAINING)

    async def rate_last(self, progress: Progress) -> None:
        """Spend what is left of the share on a ladder that has the last generation in it."""
        players = [*progress.generations]
        if progress.newest not in players:
            players.append(progress.newest)
        least = self.plan.conditions.games_each * (1 if self.plan.real_time else LAST_MATCHUPS)
        await self._rate(progress, players, max(self._affordable(progress, 1.0), least), 1.0, last=True)

    def _affordable(self, progress: Progress, part: float, advance_s: float = 0.0) -> int:
        frames = progress.total_steps * self.plan.frames_per_step
        return self.budget.games(progress.elapsed_s + advance_s, frames, part)

    async def _rate(
        self, progress: Progress, generations: list[str], games: int, part: float, *, last: bool = False
    ) -> None:
        """Play at most ``games`` in rounds, fewer where they take longer than expected, and publish the ratings.

        The last block goes on until its time is spent, since many games side by side cost less than few did before.
        """
        players = [*generations, *self.plan.conditions.anchors]
        test = None if self.gate is None else self.gate.challenge(generations)
        work = partial(RatingBlock.work, players=players, iteration=progress.iteration, test=test, last=last)
        started = time.monotonic()
        table = await self.ledger.games()
        self.budget.pay(0, time.monotonic() - started)
        while True:
            table, played = await self._round(table, min(games, GAMES_PER_ROUND), work)
            games = min(GAMES_PER_ROUND if last else games - played, self._affordable(progress, part))
            if not played or games < self.plan.conditions.games_each:
                break
        started = time.monotonic()
        try:
            board, decided, scores = await self.ledger.work(self._judge, table)
            if decided is not None:
                self.notice(decided)
            self.rating = _rating(board, scores, progress) or self.rating
            await self.ledger.work(self._publish, board, progress.total_steps)
        finally:  # tables take the longer the more games there are
            self.budget.pay(0, time.monotonic() - started)

    async def _round(
        self, table: GameTable, games: int, work: Callable[..., Sequence[GameRecord]]
    ) -> tuple[GameTable, int]:
        """Plan and play games and record them; returns all games of the ledger, and how many were played."""
        started = time.monotonic()
        records: Sequence[GameRecord] = ()
        try:
            job: Job[RatingBlock] = Job(lambda block: work(block, table, budget=games), timed=False)
            records = (await self.queue.ask({RATER: job})).get(RATER, [])
            if records:
                table = await self.ledger.record(records)
        finally:
            self.budget.pay(max(len(records), 1), time.monotonic() - started)
        return table, len(records)

    def _judge(self, games: GameTable) -> tuple[Leaderboard, str | None, tuple[ScoreAgainst, ...]]:
        """The leaderboard, the gate's decision, and the results against scripted players. Blocks."""
        decided = None if self.gate is None else self._decide(self.gate, games)
        board, conditions = build(games, run=self.run.path), self.plan.conditions
        if board.newest is None:
            return board, decided, ()
        found = scores_against(comparable(games, conditions, find_table(conditions.settings)), conditions.anchors)
        scores = [
            ScoreAgainst(player=name, games=count, score=score, low=low, high=high)
            for name, (count, score, low, high) in found.items()
        ]
        return board, decided, tuple(scores)

    def _publish(self, board: Leaderboard, total_steps: int) -> None:
        """Write which generation is best, and publish the table. Blocks."""
        if self.gate is not None:
            self.run.write_best(self.gate.state.model_dump(mode="json"))
        self.publish(board, total_steps)

    def _decide(self, gate: Gate, games: GameTable) -> str | None:
        best = gate.state.best
        found = gate.decide(games.comparable(self.plan.conditions.settings).games)
        if found is None or found[1].state == "open":
            return None
        candidate, test = found
        became = f"{candidate} is best now" if test.state == "accepted" else f"{best} stays best"
        return f"Gate: {candidate} against {best}, {test.pairs} pairs, LLR {test.llr:+.2f}: {became}"


def _rating(board: Leaderboard, scores: tuple[ScoreAgainst, ...], progress: Progress) -> RatingReport | None:
    """Report of the newest generation's row; None if it is missing or has no interval."""
    row = next((row for row in board.rows if row.policy == board.newest), None)
    if row is None or row.ends is None:
        return None
    return RatingReport(
        generation=row.policy,
        rating=row.rating,
        ends=row.ends,
        scale=board.scale,
        iteration=progress.iteration,
        elapsed_s=progress.elapsed_s,
        beats=next(iter(board.beats), None),
        scores=scores,
    )


def prepare_best(run: RunDir, resumed: LearnerState | None) -> None:
    """Write which generation is best before the first game of a gate: none, or the one of the state. Blocks."""
    state = resumed.meta.extra.get("gate") if resumed else None
    gate = GateState() if state is None else GateState.model_validate(state)
    run.write_best(gate.model_dump(mode="json"))
