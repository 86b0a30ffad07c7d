"""Rates generations while training goes on: plans fixtures, has them played by a runner, keeps the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from selfplay.checkpoint.store import writing
from selfplay.league.gate import SHARE, Gate, GateState
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.records import MatchRecord
from selfplay.league.schedule import repeat
from selfplay.league.sprt import Bounds
from selfplay.policy.memory import Ask, directly
from selfplay.policy.policy import load_policy
from selfplay.report.metrics import GateReport
from selfplay.report.rating_events import write_ratings
from selfplay.runner.board import Board, Job
from selfplay.runner.match import Contender, play
from selfplay.seeding import derive
from selfplay.trainer.live import arena, rating_cost_s
from selfplay.trainer.rating import LedgerKeeper, RatingBudget, highest, plan_games, play_fixtures

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.league.games import Games
    from selfplay.trainer.progress import Progress
    from selfplay.trainer.session import Session

RATER = "rater-000"
BATCH = 256  # games side by side at most
EACH, ENOUGH = 8, 96  # mock games a generation, or in all, worth starting for: a policy costs as much for few or many
MOCK_S = 0.05  # of a game there, before any was played
DURING = 0.6  # part of the share that is spent while training; the rest is for the last generation


class RaterResource:
    """What the rating runner works on."""

    def __init__(self, session: Session, tell: Callable[[str], object], ask: Ask = directly) -> None:
        """``tell`` is told of games that fail; ``ask`` is how networks are asked."""
        self._session = session
        self._arena = arena(session.config, session.run, tell, ask) if session.game.live else None
        self._cancelled = False

    def work(
        self,
        games: Games,
        players: list[str],
        budget: int,
        iteration: int,
        part: int,
        test: tuple[str, str] | None = None,
    ) -> list[MatchRecord]:
        """Plan and play at most ``budget`` games; those two who are being tested get their share. Blocks."""
        settings = self._session.rating
        rng = np.random.default_rng(derive(settings.seed, "rating", iteration, part))
        fixtures = [] if test is None else repeat(*test, int(SHARE * budget), rng, settings.games_each)
        budget -= len(fixtures) * settings.games_each
        fixtures += plan_games(games, settings, players, budget, rng, self._session.run.path)
        if not fixtures:
            return []
        names = sorted({name for fixture in fixtures for name in (fixture.a, fixture.b)})
        # Loaded anew each time: a learner that crashed makes other generations of the same names.
        contenders = {name: self._contender(name) for name in names}
        way = play if self._arena is None else self._arena.play
        return play_fixtures(fixtures, contenders, settings, iteration, lambda: self._cancelled, way)

    def _contender(self, name: str) -> Contender:
        if name in self._session.anchors:
            return Contender(name)
        return Contender(name, load_policy(self._session.run.generations / name))

    def cancel(self) -> None:
        """See ``Resource``."""
        self.kill()

    def kill(self) -> bool:
        """See ``Resource``."""
        self._cancelled = True
        if self._arena is None:
            return False
        self._arena.kill()
        return True

    def close(self) -> None:
        """See ``Resource``."""


class Rater:
    """What the training loop asks to rate."""

    def __init__(
        self, session: Session, ledger: LedgerKeeper, board: Board[RaterResource], tell: Callable[[str], None]
    ) -> None:
        config = session.config
        self.gate = Gate(Bounds(*config.league.gate_bounds)) if config.league.gate == "sprt" else None
        self._tell = tell
        self._live = session.game.live
        self.budget = RatingBudget(
            config.league.rating_share,
            config.game.max_episode_frames,
            by_frames=config.run.deterministic,
            cost_s=rating_cost_s(config) if self._live else MOCK_S,
        )
        self.newest_elo: float | None = None
        self._session = session
        self._ledger = ledger
        self._board = board

    @property
    def rows(self) -> int:
        """Games in the ledger."""
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
        """The test under way, once it has games."""
        match self.gate:
            case Gate(state=GateState(candidate=str(candidate), best=best, llr=float(llr)), bounds=bounds):
                return GateReport(candidate=candidate, best=best, llr=llr, low=bounds.low, high=bounds.high)
        return None

    @property
    def tested(self) -> set[str]:
        """Generations that a gate needs."""
        state = GateState() if self.gate is None else self.gate.state
        return {name for name in (state.best, state.candidate) if name is not None}

    async def strengths(self, generations: Sequence[str]) -> dict[str, float]:
        """Elo of those generations that have rating games."""
        return await self._ledger.strengths(self._session.rating, generations, self._session.run.path)

    async def best(self, generations: Sequence[str]) -> str | None:
        """Who passed the gate; without one, who is rated highest, the newer of equals; None before any game."""
        if self.gate is not None:
            return self.gate.state.best
        return highest(await self.strengths(generations))

    async def write_rest(self) -> None:
        """Games that the disk did not take before; DiskError where it does not now."""
        await self._ledger.record([])

    async def rate_if_due(self, progress: Progress) -> None:
        """Play a batch when the budget allows one that is worth it."""
        if len(progress.generations) < 2:
            return
        games = self._affordable(progress, DURING)
        each = self._session.rating.games_each
        if games >= (each if self._live else min(EACH * len(progress.generations), ENOUGH)):
            await self._play(progress, progress.generations, min(games, BATCH), 0)

    async def rate_last(self, progress: Progress) -> None:
        """Spend what is left of the share on a ladder that has the last generation in it."""
        players = [*progress.generations]
        if progress.newest not in players:
            players.append(progress.newest)
        part, each = 1, self._session.rating.games_each
        least = each if self._live else 8 * each
        while (games := self._affordable(progress, 1.0)) >= each or part == 1:
            await self._play(progress, players, min(max(games, least), BATCH), part)
            part += 1

    def _affordable(self, progress: Progress, part: float) -> int:
        frames = progress.total_steps * self._session.config.game.frame_skip
        return self.budget.games(progress.elapsed_s, frames, part)

    async def _play(self, progress: Progress, generations: list[str], games: int, part: int) -> None:
        players = [*generations, *self._session.anchors]
        test = None if self.gate is None else self.gate.challenge(generations)
        started, records = time.monotonic(), list[MatchRecord]()
        try:
            known = await self._ledger.games()
            job: Job[RaterResource] = Job(
                lambda r: r.work(known, players, games, progress.iteration, part, test), timed=False
            )
            records = (await self._board.ask({RATER: job})).get(RATER, [])
            await self._rate(records, progress)
        finally:  # all of it: what is made of the games takes the longer the more of them there are
            self.budget.pay(max(len(records), 1), time.monotonic() - started)

    async def _rate(self, records: Sequence[MatchRecord], progress: Progress) -> None:
        if records:
            await self._ledger.record(records)
        board, decided = await self._ledger.work(self._judge, await self._ledger.games())
        if decided is not None:
            self._tell(decided)
        self.newest_elo = next((row.elo for row in board.rows if row.policy == progress.newest), self.newest_elo)
        await self._ledger.work(self._publish, board)

    def _judge(self, games: Games) -> tuple[Leaderboard, str | None]:
        """The table of now, and what the gate decided. Blocks."""
        decided = None if self.gate is None else self._decide(self.gate, games)
        return build(games, run=self._session.run.path), decided

    def _publish(self, board: Leaderboard) -> None:
        """Who is best, and the curves of TensorBoard. Blocks."""
        run = self._session.run
        if self.gate is not None:
            run.write_best(self.gate.state.model_dump(mode="json"))
        with writing(f"cannot write {run.rating_events}"):
            write_ratings(run.rating_events, board, self._session.config.steps_per_iteration)

    def _decide(self, gate: Gate, games: Games) -> str | None:
        best = gate.state.best
        found = gate.decide(games.comparable(self._session.rating.settings).games)
        if found is None or found[1].state == "open":
            return None
        candidate, test = found
        became = f"{candidate} is best now" if test.state == "accepted" else f"{best} stays best"
        return f"Gate: {candidate} against {best}, {test.pairs} pairs, LLR {test.llr:+.2f}: {became}"


def prepare_best(session: Session) -> None:
    """Say who is best before the first game: nobody, ``gen_0``, or whom the checkpoint names. Blocks."""
    if session.config.league.gate == "none":
        return
    state = session.resumed.meta.extra.get("gate") if session.resumed else None
    gate = GateState() if state is None else GateState.model_validate(state)
    session.run.write_best(gate.model_dump(mode="json"))
