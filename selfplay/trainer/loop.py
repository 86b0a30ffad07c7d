"""The training loop: a supervised child that collects, updates, saves, rates and reports, iteration by iteration.

When it crashes its supervisor starts it again and it goes on from the last checkpoint; runners keep their games.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import LearnerState, group, load_latest_learner, set_aside_newer
from selfplay.errors import NotARunError, RunnerError
from selfplay.league.modes import MAIN
from selfplay.league.records import START
from selfplay.policy.policy import load_policy
from selfplay.report.health import Health
from selfplay.report.metrics import Update
from selfplay.runner.board import Board, Job
from selfplay.runner.segment import Collected, Games, SegmentOrder
from selfplay.runner.worker import Worker
from selfplay.trainer.agents import ROLES, Agent, make_matchmaker
from selfplay.trainer.archive import Archive
from selfplay.trainer.batch import scores_against
from selfplay.trainer.disk import RATINGS, DiskWatch
from selfplay.trainer.learner import Learner
from selfplay.trainer.progress import Phases, Progress, chaos_of, iteration_report
from selfplay.trainer.saving import Saving

if TYPE_CHECKING:
    from selfplay.config import Config
    from selfplay.policy.network import ActorCritic
    from selfplay.report.reporter import Reporter
    from selfplay.runner.chaos import Chaos
    from selfplay.supervision import Context
    from selfplay.trainer.rater import Rater
    from selfplay.trainer.session import Session


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
        board: Board[Games],
        rater: Rater | None,
        reporter: Reporter,
        stop: asyncio.Event,
        threads: int,
        start_runners: Callable[[], Awaitable[None]],
    ) -> None:
        self.session = session
        self.progress = Progress(chaos_of(session.config.run, session.resumed), Health(fights=session.game.fighter))
        self.disk = DiskWatch(reporter.notice)
        self._board = board
        self._rater = rater
        self._reporter = reporter
        self._stop = stop
        self._threads = threads
        self._start_runners = start_runners
        self._agents: dict[str, Agent] = {}  # by role, the main agent first
        self._archive = self._new_archive()
        self._teacher: ActorCritic | None = None  # of the main agent; exploiters are free
        self._resumed = session.resumed
        self.unplayable: frozenset[str] = frozenset()  # runners whose games of the checkpoint lack an opponent

    @property
    def config(self) -> Config:
        """Of the run."""
        return self.session.config

    async def run(self, ctx: Context) -> None:
        """The child: trains to the end of the run, then returns."""
        worker = Worker(ctx.id)
        ctx.ready()  # at once: compiling the rules takes long, and what it says shall be seen meanwhile
        in_play = {role: agent.frozen for role, agent in self._agents.items()}  # runners keep their games
        self._board.forget()
        self._agents, self._archive = {}, self._new_archive()  # nothing else of a crashed incarnation
        try:
            self._agents = await worker.submit(self._make_agents)
            for role, agent in self._agents.items():
                agent.frozen = in_play.get(role, {})
            state = self._resumed if ctx.incarnation == 1 else await worker.submit(_latest, self.session)
            kept = -1 if state is None else state.meta.iteration
            await worker.submit(set_aside_newer, self.session.run, kept)
            at_work = (self._agents, self.progress, self._board, self._rater, self._reporter, worker, self.disk)
            saving = Saving(self.session, self._archive, *at_work)
            if state is None:
                await saving.begin()
            else:
                await self._continue(worker, saving, state)
            if self.config.run.pretrained is not None:  # what the run began with, of which it has a copy
                self._teacher = (
                    await worker.submit(load_policy, self._archive.path(START), self.session.device)
                ).network
            await self._start_runners()
            await self._train(worker, saving)
        finally:
            for agent in self._agents.values():
                worker.submit(agent.learner.close)
            worker.close()

    def _new_archive(self) -> Archive:
        return Archive(self.session.run, self.config.league.population)

    def _make_agents(self) -> dict[str, Agent]:
        """The learners of this run, by role. Blocks."""
        played = set(self.session.roles.values())
        guests = bool(self._archive.welcome())
        return {
            role: Agent(role, Learner(self.session, self._threads, role), make_matchmaker(self.session, role, guests))
            for role in ROLES
            if role in played
        }

    async def _continue(self, worker: Worker, saving: Saving, state: LearnerState) -> None:
        meta, progress = state.meta, self.progress
        extra: Mapping[str, Any] = meta.extra
        for role, agent in self._agents.items():
            arrays = state.arrays if role == MAIN else group(state.arrays, role)
            await worker.submit(agent.learner.restore, arrays)
            agent.restore({"matchmaker": meta.matchmaker} if role == MAIN else extra["agents"][role])
        progress.iteration, progress.total_steps = meta.iteration, meta.total_steps
        progress.elapsed_s = meta.elapsed_s
        if state is self._resumed:  # a learner that crashed has counted on
            progress.restarts = int(str(extra.get("restarts", 0)))
        await saving.restore(meta)
        if state is self._resumed:  # runners continue the games of the checkpoint, against whom they had met
            await self._load_in_play(worker, meta.opponents)

    async def _load_in_play(self, worker: Worker, opponents: Mapping[str, Any]) -> None:
        """The frozen policies that games of a checkpoint need; whose games lack one begins new ones."""
        broken = set()
        for runner, role in self.session.roles.items():
            names = _in_play(opponents.get(runner))
            if await worker.submit(self._archive.has, names):
                await self._load(worker, self._agents[role], names)
            else:
                broken.add(runner)
                self._reporter.notice(f"{runner} begins new games: an opponent of its games in progress is gone")
        self.unplayable = frozenset(broken)

    async def _train(self, worker: Worker, saving: Saving) -> None:
        if self._done() and not self._stop.is_set():
            self._reporter.notice("The run has reached its end; --timesteps or --max-minutes can put it further away")
        while not self._done():
            await self._iterate(worker, saving)
        await self._finish(saving)

    async def _iterate(self, worker: Worker, saving: Saving) -> None:
        """One iteration; behind it nobody holds what was collected, whose arrays the next one is written into."""
        progress = self.progress
        phases = Phases(progress)
        collected = await self._collect(worker)
        phases.end("collect")
        update = await self._update(worker, collected)
        phases.end("update")
        progress.iteration += 1
        progress.total_steps += self.session.config.steps_per_iteration
        if self._rater is not None:
            with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                await self._rater.rate_if_due(progress)
            phases.end("rate")
        if saving.is_due:  # last: a checkpoint is of a whole iteration
            await saving.save()
            phases.end("save")
        self._report(collected, update, phases.seconds)

    async def _finish(self, saving: Saving) -> None:
        """Save the last state, whatever the interval, and rate it."""
        progress = self.progress
        await saving.save_last()
        progress.finished = not self._stop.is_set()
        if self._rater is not None and progress.finished:
            self._reporter.notice(f"Rating {progress.newest}, the last generation")
            with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                await self._rater.rate_last(progress)
            if not self.config.run.deterministic:  # where equal runs are promised a later end makes no difference
                await saving.checkpoint()

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

    async def _collect(self, worker: Worker) -> dict[str, list[Collected]]:
        """An iteration's segments by the role of who learns from them."""
        session, iteration = self.session, self.progress.iteration
        networks = {}
        for role, agent in self._agents.items():
            agent.matchmaker.rotate(agent.frozen)
            networks[role] = await worker.submit(agent.learner.snapshot)
            await self._load(worker, agent, {*agent.matchmaker.bench, *agent.frozen})
        jobs: dict[str, Job[Games]] = {}
        for runner, games in session.blocks.items():
            agent = self._agents[session.roles[runner]]
            frozen = dict(agent.frozen) if agent.role == MAIN else agent.frozen | {MAIN: networks[MAIN]}
            order = SegmentOrder(
                iteration, self.config.ppo.rollout_length, iteration, networks[agent.role], frozen,
                tuple(agent.matchmaker.draw(games)), self._teacher if agent.role == MAIN else None,
            )  # fmt: skip
            jobs[runner] = Job(partial(_collect, runner=runner, order=order, chaos=self.progress.chaos))
        core = [runner for runner, role in session.roles.items() if role == MAIN]
        results: dict[str, Collected] = await self._board.ask(jobs, core)
        late: dict[str, Collected] = self._board.take_late()  # one version old, which PPO's ratios make up for
        self.progress.late += len(late)
        self.progress.dropped = self._board.dropped
        self._tell_stragglers()
        segments = [*sorted(results.items()), *sorted(late.items())]
        for runner, part in segments:
            for note in part.notes:
                self._reporter.notice(f"{runner}: {note}")
        collected = {
            role: [part for runner, part in segments if session.roles[runner] == role] for role in self._agents
        }
        if not collected[MAIN]:
            why = next(iter(self._board.given_up.values()))
            raise RunnerError(f"every runner fails again and again; first cause: {why}")
        for role, parts in collected.items():
            agent = self._agents[role]
            agent.matchmaker.record(scores_against(parts))
            in_play = frozenset().union(*(part.in_play for part in parts))
            agent.frozen = {name: net for name, net in agent.frozen.items() if name in in_play}
        return collected

    def _tell_stragglers(self) -> None:
        usual = self._board.median_s or 0.0
        for runner, seconds in self._board.take_stragglers().items():
            self._reporter.notice(f"{runner} took {seconds:.1f} s for a segment; {usual:.1f} s is usual")
            self.progress.chaos.noticed(runner, "slow")

    async def _update(self, worker: Worker, collected: Mapping[str, Sequence[Collected]]) -> Update:
        """Every learner learns from its own segments; what the main agent's update was like."""
        updates = {}
        for role, parts in collected.items():
            if parts:
                rollouts = [part.rollout for part in parts]
                agent = self._agents[role]
                age = self.progress.iteration - agent.began
                updates[role] = await worker.submit(agent.learner.update, rollouts, age, self._share_done())
        return Update(**asdict(updates[MAIN]), learning_rate=self._agents[MAIN].learner.learning_rate)

    async def _load(self, worker: Worker, agent: Agent, names: Iterable[str]) -> None:
        """Make sure that these opponents are in memory; those that games in progress need stay there."""
        for name in sorted(set(names) - set(agent.frozen)):
            policy = await worker.submit(load_policy, self._archive.path(name), self.session.device)
            agent.frozen[name] = policy.network

    def _report(
        self, collected: Mapping[str, Sequence[Collected]], update: Update, phases: Mapping[str, float]
    ) -> None:
        self.progress.tasks = len(asyncio.all_tasks())
        main, others = collected[MAIN], {role: parts for role, parts in collected.items() if role != MAIN}
        report = iteration_report(self.session, self.progress, main, update, phases, self._rater, others)
        self.progress.speeds.append(report.steps_per_s)
        self._reporter.iteration(report)
        for finding in self.progress.health.observe(report):
            self._reporter.notice(f"Health: {finding.text}")


def _collect(block: Games, runner: str, order: SegmentOrder, chaos: Chaos) -> Collected:
    """What a runner's thread does for a segment, with what is to break in it."""
    collected = block.collect(order, chaos.draw(runner, order.iteration))
    chaos.completed(runner)
    return collected


def _in_play(document: Mapping[str, Any] | None) -> set[str]:
    """Frozen policies that the games of a block go on against; ``document`` is what it said of itself."""
    return {name for kind, name, _ in (document or {}).get("opponents", ()) if kind == "generation"}


def _latest(session: Session) -> LearnerState | None:
    """What a learner that crashed goes on from; None before a first checkpoint."""
    with suppress(NotARunError):
        return load_latest_learner(session.run)
    return None
