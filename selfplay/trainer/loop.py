"""The training loop: a supervised child that collects, updates, saves, rates and reports, iteration by iteration.

When it crashes its supervisor starts it again and it goes on from the last checkpoint; runners keep their games.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from selfplay.checkpoint import LearnerMeta, LearnerState, load_latest_learner, save_learner, set_aside_generations
from selfplay.errors import NotARunError, RunnerError
from selfplay.league.matchmaker import Matchmaker
from selfplay.policy.policy import load_policy
from selfplay.report.health import Health
from selfplay.report.metrics import IterationReport, Update
from selfplay.runner.block import Block, Collected, SegmentOrder
from selfplay.runner.board import Board, Job
from selfplay.runner.worker import Worker
from selfplay.seeding import derive
from selfplay.trainer.batch import met, scores_against, summarise, zero_sum_error
from selfplay.trainer.learner import Learner

if TYPE_CHECKING:
    import asyncio

    from selfplay.config import Config
    from selfplay.policy.network import ActorCritic
    from selfplay.report.reporter import Reporter
    from selfplay.supervision import Context
    from selfplay.trainer.rater import Rater
    from selfplay.trainer.session import Session


class Progress:
    """Where a run stands; what its end is told from."""

    def __init__(self, health: Health | None = None) -> None:
        self.iteration = 0
        self.total_steps = 0
        self.elapsed_s = 0.0
        self.generations: list[str] = []  # those that opponents are drawn from
        self.newest = ""
        self.finished = False
        self.restarts = 0
        self.speeds: list[float] = []
        self.health = health or Health()


class Phases:
    """Seconds of the phases of one iteration, which count towards the run's time as each ends."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._since = time.monotonic()

    def end(self, phase: str) -> None:
        """A phase ends and the next begins."""
        now = time.monotonic()
        self.seconds[phase] = now - self._since
        self._progress.elapsed_s += self.seconds[phase]
        self._since = now


class TrainingLoop:
    """Makes the learner child.

    Args:
        session: What is trained.
        board: Runners of training games.
        rater: Plays rating games; None where nothing is rated.
        reporter: Shows what happens; never blocks.
        stop: Set when the run shall end after the iteration in progress.
        threads: Of the update.
        start_runners: Makes sure that there are runners.
    """

    def __init__(
        self,
        session: Session,
        board: Board[Block],
        rater: Rater | None,
        reporter: Reporter,
        stop: asyncio.Event,
        threads: int,
        start_runners: Callable[[], Awaitable[None]],
    ) -> None:
        self.session = session
        self.progress = Progress(Health(fights=session.game.fighter))
        self._board = board
        self._rater = rater
        self._reporter = reporter
        self._stop = stop
        self._threads = threads
        self._start_runners = start_runners
        self._frozen: dict[str, ActorCritic] = {}
        self._resumed = session.resumed

    @property
    def config(self) -> Config:
        """Of the run."""
        return self.session.config

    async def run(self, ctx: Context) -> None:
        """The child: trains to the end of the run, then returns."""
        worker = Worker(ctx.id)
        learner: Learner | None = None
        ctx.ready()  # at once: compiling the rules takes long, and what it says shall be seen meanwhile
        try:
            learner = await worker.submit(Learner, self.session, self._threads)
            matchmaker = self._matchmaker()
            state = self._resumed if ctx.incarnation == 1 else await worker.submit(_latest, self.session)
            kept = -1 if state is None else state.meta.iteration
            await worker.submit(set_aside_generations, self.session.run, kept)
            if state is None:
                await self._begin(worker, learner, matchmaker)
            else:
                await self._continue(worker, learner, matchmaker, state)
            await self._start_runners()
            await self._train(worker, learner, matchmaker)
        finally:
            if learner is not None:
                worker.submit(learner.close)
            worker.close()

    def _matchmaker(self) -> Matchmaker:
        league = self.config.league
        weights = None
        if league.mode == "simple_mix":
            weights = {
                "current": league.current, "recent": league.recent, "scripted": league.scripted,
                "any_past": league.any_past,
            }  # fmt: skip
        rng = np.random.default_rng(derive(self.config.run.seed, "matchmaker"))
        return Matchmaker(league.mode, rng, self.session.training_bots, weights, league.max_frozen)

    async def _begin(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> None:
        progress = self.progress
        progress.newest = await worker.submit(learner.save_generation, 0, 0, None)
        progress.generations = [progress.newest]
        matchmaker.set_generations(progress.generations)
        await self._checkpoint(worker, learner, matchmaker)

    async def _continue(self, worker: Worker, learner: Learner, matchmaker: Matchmaker, state: LearnerState) -> None:
        await worker.submit(learner.restore, state)
        matchmaker.restore(state.meta.matchmaker)
        progress = self.progress
        progress.iteration, progress.total_steps = state.meta.iteration, state.meta.total_steps
        progress.elapsed_s = state.meta.elapsed_s
        progress.generations = list(state.meta.generations)
        progress.newest = progress.generations[-1]
        progress.restarts = int(str(state.meta.extra.get("restarts", 0)))
        if self._rater is not None:
            self._rater.restore(state.meta.extra)
        if state is self._resumed:  # runners continue the games of the checkpoint, against whom they had met
            await self._load(worker, _in_play(state.meta.opponents))

    async def _train(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> None:
        progress = self.progress
        if self._done() and not self._stop.is_set():
            self._reporter.notice("The run has reached its end; --timesteps or --max-minutes can put it further away")
        while not self._done():
            phases = Phases(progress)
            collected = await self._collect(worker, learner, matchmaker)
            phases.end("collect")
            rollouts = [part.rollout for part in collected]
            update = await worker.submit(learner.update, rollouts, self._share_done())
            phases.end("update")
            progress.iteration += 1
            progress.total_steps += self.session.config.steps_per_iteration
            if self._rater is not None:
                await self._rater.rate_if_due(progress)
                phases.end("rate")
            if progress.iteration % self.config.run.save_interval == 0:  # last: a checkpoint is of a whole iteration
                await self._save(worker, learner, matchmaker)
                phases.end("save")
            details = Update(**asdict(update), learning_rate=learner.learning_rate)
            self._report(collected, details, phases.seconds)
        await self._finish(worker, learner, matchmaker)

    def _done(self) -> bool:
        iterations, minutes = self.session.iterations, self.config.run.max_minutes
        return (
            self._stop.is_set()
            or (iterations is not None and self.progress.iteration >= iterations)
            or (minutes is not None and self.progress.elapsed_s >= 60 * minutes)
        )

    def _share_done(self) -> float:
        iterations, minutes = self.session.iterations, self.config.run.max_minutes
        shares = [self.progress.iteration / iterations if iterations else 0.0]
        shares.append(self.progress.elapsed_s / (60 * minutes) if minutes else 0.0)
        return min(1.0, max(shares))

    async def _collect(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> list[Collected]:
        matchmaker.rotate(self._frozen)
        network = await worker.submit(learner.snapshot)
        needed = set(matchmaker.bench) | set(self._frozen)
        await self._load(worker, needed)
        jobs: dict[str, Job[Block]] = {}
        for runner, games in self.session.blocks.items():
            order = SegmentOrder(
                self.progress.iteration, self.config.ppo.rollout_length, self.progress.iteration, network,
                dict(self._frozen), tuple(matchmaker.draw(games)),
            )  # fmt: skip
            jobs[runner] = Job(_collect_job(order))
        results: dict[str, Collected] = await self._board.ask(jobs)
        collected = [results[name] for name in sorted(results)]
        if not collected:
            why = next(iter(self._board.given_up.values()))
            raise RunnerError(f"every runner fails again and again; first cause: {why}")
        matchmaker.record(scores_against(collected))
        in_play = frozenset().union(*(part.in_play for part in collected))
        self._frozen = {name: net for name, net in self._frozen.items() if name in in_play}
        return collected

    async def _load(self, worker: Worker, names: set[str]) -> None:
        """Make sure that these opponents are in memory; those that games in progress need stay there."""
        for name in sorted(names - set(self._frozen)):
            path = self.session.run.generations / name
            policy = await worker.submit(load_policy, path, self.session.device)
            self._frozen[name] = policy.network

    async def _save(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> None:
        """A generation that opponents are drawn from, and a checkpoint."""
        progress = self.progress
        progress.newest = await worker.submit(
            learner.save_generation, progress.iteration, progress.total_steps, progress.generations[-1]
        )
        progress.generations.append(progress.newest)
        matchmaker.set_generations(progress.generations)
        await self._checkpoint(worker, learner, matchmaker)

    async def _checkpoint(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> None:
        progress = self.progress
        arrays = await worker.submit(learner.arrays)
        opponents: dict[str, Any] = {}
        if progress.iteration:
            jobs: dict[str, Job[Block]] = {runner: Job(Block.snapshot, timed=False) for runner in self.session.blocks}
            for runner, (games, document) in (await self._board.ask(jobs)).items():
                arrays |= {f"games/{runner}/{name}": array for name, array in games.items()}
                opponents[runner] = document
        meta = LearnerMeta(
            iteration=progress.iteration,
            total_steps=progress.total_steps,
            elapsed_s=progress.elapsed_s,
            created=datetime.now(UTC),
            config=self.config.model_dump(mode="json"),
            matchmaker=matchmaker.state(),
            opponents=opponents,
            ledger_position=self._rater.rows if self._rater else 0,
            generations=tuple(progress.generations),
            extra={"restarts": progress.restarts} | (self._rater.state() if self._rater else {}),
        )
        await worker.submit(save_learner, self.session.run, meta, arrays)

    async def _finish(self, worker: Worker, learner: Learner, matchmaker: Matchmaker) -> None:
        """Save the last state, whatever the interval, and rate it."""
        progress = self.progress
        last = f"gen_{progress.iteration}"
        if progress.newest != last:
            await self._checkpoint(worker, learner, matchmaker)
            progress.newest = await worker.submit(
                learner.save_generation, progress.iteration, progress.total_steps, progress.generations[-1]
            )
        progress.finished = not self._stop.is_set()
        if self._rater is not None and progress.finished:
            self._reporter.notice(f"Rating {progress.newest}, the last generation")
            await self._rater.rate_last(progress)

    def _report(self, collected: list[Collected], update: Update, phases: Mapping[str, float]) -> None:
        report = iteration_report(self.session, self.progress, collected, update, phases, self._rater)
        self.progress.speeds.append(report.steps_per_s)
        self._reporter.iteration(report)
        for finding in self.progress.health.observe(report):
            self._reporter.notice(f"Health: {finding.text}")


def iteration_report(
    session: Session,
    progress: Progress,
    collected: Sequence[Collected],
    update: Update,
    phases: Mapping[str, float],
    rater: Rater | None = None,
) -> IterationReport:
    """What people read about the iteration that ``progress`` has just counted."""
    config = session.config
    cuda = session.device.startswith("cuda")
    return IterationReport(
        iteration=progress.iteration,
        iterations=session.iterations,
        steps=session.config.steps_per_iteration,
        total_steps=progress.total_steps,
        timesteps=config.run.timesteps,
        experiences=sum(part.rollout.experiences for part in collected),
        phase_s=dict(phases),
        elapsed_s=progress.elapsed_s,
        limit_s=config.run.max_minutes * 60 if config.run.max_minutes else None,
        update=update,
        play=summarise(collected),
        zero_sum_error=zero_sum_error(collected),
        opponents=met(collected),
        restarts=progress.restarts,
        abandoned=Worker.abandoned,
        cuda_used=torch.cuda.memory_allocated(session.device) if cuda else None,
        cuda_peak=torch.cuda.max_memory_allocated(session.device) if cuda else None,
        elo=rater.newest_elo if rater else None,
        gate=rater.gate_report() if rater else None,
    )


def _collect_job(order: SegmentOrder) -> Any:  # noqa: ANN401
    return lambda block: block.collect(order)


def _in_play(opponents: Mapping[str, Any]) -> set[str]:
    """Generations that games of a checkpoint go on against; ``opponents`` are what blocks said of themselves."""
    rows = [row for document in opponents.values() for row in document.get("opponents", ())]
    return {name for kind, name, _ in rows if kind == "generation"}


def _latest(session: Session) -> LearnerState | None:
    """What a learner that crashed goes on from; None before a first checkpoint."""
    with suppress(NotARunError):
        return load_latest_learner(session.run)
    return None
