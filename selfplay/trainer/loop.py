"""The training loop: a supervised child that collects, updates, saves, rates and reports, iteration by iteration.

When it crashes its supervisor starts it again and it goes on from the last checkpoint; runners keep their games.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import LearnerMeta, LearnerState, group, load_latest_learner, save_learner, set_aside_newer
from selfplay.errors import NotARunError, RunnerError
from selfplay.league.modes import MAIN
from selfplay.league.records import generation_id
from selfplay.league.schedule import START
from selfplay.policy.policy import load_policy
from selfplay.report.health import Health
from selfplay.report.metrics import Update
from selfplay.runner.block import Block, Collected, SegmentOrder
from selfplay.runner.board import Board, Job
from selfplay.runner.chaos import Chaos, broken
from selfplay.runner.worker import Worker
from selfplay.trainer.agents import ROLES, WINS, Agent, Target, begins_anew, make_matchmaker, worst
from selfplay.trainer.archive import Archive
from selfplay.trainer.batch import scores_against
from selfplay.trainer.learner import Learner
from selfplay.trainer.progress import Phases, Progress, chaos_of, iteration_report
from selfplay.trainer.rating import RATER_STATE

if TYPE_CHECKING:
    from selfplay.config import Config
    from selfplay.policy.network import ActorCritic
    from selfplay.report.reporter import Reporter
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
        board: Board[Block],
        rater: Rater | None,
        reporter: Reporter,
        stop: asyncio.Event,
        threads: int,
        start_runners: Callable[[], Awaitable[None]],
    ) -> None:
        self.session = session
        self.progress = Progress(chaos_of(session.config.run, session.resumed), Health(fights=session.game.fighter))
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
        self._unrated: dict[str, Any] = {}  # what an earlier session knew of ratings, where this one rates nothing
        self._ledger_position = 0  # of the same
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
            if state is None:
                await self._begin(worker)
            else:
                await self._continue(worker, state)
            if self.config.run.pretrained is not None:  # what the run began with, of which it has a copy
                self._teacher = (
                    await worker.submit(load_policy, self._archive.path(START), self.session.device)
                ).network
            await self._start_runners()
            await self._train(worker)
        finally:
            for agent in self._agents.values():
                worker.submit(agent.learner.close)
            worker.close()

    def _new_archive(self) -> Archive:
        return Archive(self.session.run, self.config.league.population)

    @property
    def _main(self) -> Agent:
        return self._agents[MAIN]

    def _make_agents(self) -> dict[str, Agent]:
        """The learners of this run, by role. Blocks."""
        played = set(self.session.roles.values())
        guests = bool(self._archive.welcome())
        return {
            role: Agent(role, Learner(self.session, self._threads, role), make_matchmaker(self.session, role, guests))
            for role in ROLES
            if role in played
        }

    async def _begin(self, worker: Worker) -> None:
        await self._freeze(worker)
        self._set_pools()
        await self._checkpoint(worker)

    async def _continue(self, worker: Worker, state: LearnerState) -> None:
        meta, progress = state.meta, self.progress
        extra: Mapping[str, Any] = meta.extra
        await worker.submit(self._archive.restore, meta.generations, extra)
        for role, agent in self._agents.items():
            arrays = state.arrays if role == MAIN else group(state.arrays, role)
            await worker.submit(agent.learner.restore, arrays)
            agent.restore({"matchmaker": meta.matchmaker} if role == MAIN else extra["agents"][role])
        progress.iteration, progress.total_steps = meta.iteration, meta.total_steps
        progress.elapsed_s = meta.elapsed_s
        progress.generations = self._archive.generations
        progress.newest = progress.generations[-1]
        progress.restarts = int(str(extra.get("restarts", 0)))
        self._set_pools()  # somebody may be gone from the disk
        if self._rater is not None:
            self._rater.restore(meta.extra)
        else:
            self._ledger_position = meta.ledger_position
            self._unrated = {name: extra[name] for name in RATER_STATE if name in extra}
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

    async def _train(self, worker: Worker) -> None:
        progress = self.progress
        if self._done() and not self._stop.is_set():
            self._reporter.notice("The run has reached its end; --timesteps or --max-minutes can put it further away")
        while not self._done():
            phases = Phases(progress)
            collected = await self._collect(worker)
            phases.end("collect")
            update = await self._update(worker, collected)
            phases.end("update")
            progress.iteration += 1
            progress.total_steps += self.session.config.steps_per_iteration
            if self._rater is not None:
                await self._rater.rate_if_due(progress)
                phases.end("rate")
            if progress.iteration % self.config.run.save_interval == 0:  # last: a checkpoint is of a whole iteration
                await self._save(worker)
                phases.end("save")
            self._report(collected, update, phases.seconds)
        await self._finish(worker)

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
        jobs: dict[str, Job[Block]] = {}
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
        return Update(**asdict(updates[MAIN]), learning_rate=self._main.learner.learning_rate)

    async def _load(self, worker: Worker, agent: Agent, names: Iterable[str]) -> None:
        """Make sure that these opponents are in memory; those that games in progress need stay there."""
        for name in sorted(set(names) - set(agent.frozen)):
            policy = await worker.submit(load_policy, self._archive.path(name), self.session.device)
            agent.frozen[name] = policy.network

    def _set_pools(self) -> None:
        for agent in self._agents.values():
            agent.matchmaker.set_pool(self._archive.generations, self._archive.exploiters, self._archive.guests)

    async def _freeze(self, worker: Worker) -> None:
        """A generation of the main agent."""
        progress, archive = self.progress, self._archive
        parent = archive.generations[-1] if archive.generations else None
        name = generation_id(progress.iteration)
        meta, params = await worker.submit(
            self._main.learner.policy, name, progress.iteration, progress.total_steps, parent
        )
        progress.newest = await worker.submit(archive.save, meta, params)
        progress.generations = archive.generations

    async def _save(self, worker: Worker) -> None:
        """A generation that opponents are drawn from, exploiters that have done their work, and a checkpoint."""
        archive = self._archive
        hardest = {role: worst(agent, archive) for role, agent in self._agents.items() if role != MAIN}
        await self._freeze(worker)  # after that: nobody has met a new generation
        for role, target in hardest.items():
            if self._has_done_its_work(self._agents[role], target):
                await self._freeze_exploiter(worker, self._agents[role], target)
        left = archive.leaving
        if archive.is_full:
            strengths = {} if self._rater is None else await self._rater.strengths(self.progress.generations)
            in_play = {name for agent in self._agents.values() for name in agent.frozen}
            tested = set() if self._rater is None else self._rater.tested
            await worker.submit(archive.thin, strengths, in_play | tested)
        self._set_pools()
        await self._checkpoint(worker)
        await worker.submit(archive.sweep, left)

    def _has_done_its_work(self, agent: Agent, hardest: Target) -> bool:
        """Whether an exploiter wins, or has tried for long enough."""
        patience = self.config.league.patience * self.config.run.save_interval
        return hardest.score >= WINS or self.progress.iteration - agent.since >= patience

    async def _freeze_exploiter(self, worker: Worker, agent: Agent, hardest: Target) -> None:
        """An exploiter joins the pool; then it begins anew, if chance says so."""
        progress, config = self.progress, self.config
        name = f"{agent.role}_{progress.iteration}"
        policy = await worker.submit(agent.learner.policy, name, progress.iteration, progress.total_steps, None)
        name = await worker.submit(self._archive.save, *policy)
        agent.since = progress.iteration
        anew = begins_anew(agent, progress.iteration, config.run.seed)
        if anew:
            await worker.submit(agent.learner.begin, await worker.submit(self._first_weights))
            agent.matchmaker.forget()
            agent.began = progress.iteration
        then = "begins anew" if anew else "goes on"
        self._reporter.notice(f"{name} joins the league ({hardest}); {then}")

    def _first_weights(self) -> ActorCritic:
        """What an exploiter begins with. Blocks."""
        if self.config.run.pretrained is None:
            return self._main.learner.snapshot()
        return load_policy(self._archive.path(START)).network  # the pretrained weights, of which the run has a copy

    async def _checkpoint(self, worker: Worker) -> None:
        progress = self.progress
        arrays = await worker.submit(self._main.learner.arrays)
        for role, agent in self._agents.items():
            if role != MAIN:
                own = await worker.submit(agent.learner.arrays)
                arrays |= {f"{role}/{name}": array for name, array in own.items()}
        opponents: dict[str, Any] = {}
        if progress.iteration and not self.session.game.live:
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
            matchmaker=self._main.matchmaker.state(),
            opponents=opponents,
            ledger_position=self._rater.rows if self._rater else self._ledger_position,
            generations=tuple(progress.generations),
            extra={
                "restarts": progress.restarts,
                "chaos": progress.chaos.document(),
                "agents": {role: agent.state() for role, agent in self._agents.items() if role != MAIN},
                **self._archive.state(),
                **(self._rater.state() if self._rater else self._unrated),
            },
        )
        await worker.submit(save_learner, self.session.run, meta, arrays)

    async def _finish(self, worker: Worker) -> None:
        """Save the last state, whatever the interval, and rate it."""
        progress = self.progress
        if progress.newest != generation_id(progress.iteration):
            await self._checkpoint(worker)
            await self._freeze(worker)
        progress.finished = not self._stop.is_set()
        if self._rater is not None and progress.finished:
            self._reporter.notice(f"Rating {progress.newest}, the last generation")
            await self._rater.rate_last(progress)
            if not self.config.run.deterministic:  # where equal runs are promised a later end makes no difference
                await self._checkpoint(worker)

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


def _collect(block: Block, runner: str, order: SegmentOrder, chaos: Chaos) -> Collected:
    """What a runner's thread does for a segment, with what is to break in it."""
    with broken(block, chaos.draw(runner, order.iteration), order.steps):
        collected = block.collect(order)
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
