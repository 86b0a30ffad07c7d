"""What a training run leaves on disk: generations, frozen exploiters, who of them stays, and states to resume from.

A generation that the disk refuses is left out. See ``state_saving`` for states.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import LearnerMeta, write_learner
from selfplay.league.modes import MAIN
from selfplay.league.records import START, generation_id
from selfplay.policy.policy import load_policy
from selfplay.runner.board import Board, Job
from selfplay.trainer.agents import WINS, Agent, Target, begins_anew, worst
from selfplay.trainer.disk import EXPLOITER, GENERATION, DiskWatch
from selfplay.trainer.rating import RATER_STATE
from selfplay.trainer.state_saving import StateSaving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from selfplay.checkpoint import Retention
    from selfplay.policy.network import ActorCritic
    from selfplay.report.reporter import Reporter
    from selfplay.runner.segment import Games
    from selfplay.runner.worker import Worker
    from selfplay.trainer.archive import Archive
    from selfplay.trainer.progress import Progress
    from selfplay.trainer.rater import Rater
    from selfplay.trainer.session import Session


class Saving(StateSaving):
    """Saves for one incarnation of the training loop.

    Args:
        session: What is trained.
        archive: The pool on disk.
        agents: Who learns, by role.
        progress: Where the run stands; is told of new generations.
        board: Runners of training games, whose games are part of a state.
        rater: Plays rating games; None where nothing is rated.
        reporter: Is told of exploiters that are frozen.
        worker: The thread that learners and files belong to.
        disk: Is told of what could not be saved.
    """

    def __init__(
        self,
        session: Session,
        archive: Archive,
        agents: Mapping[str, Agent],
        progress: Progress,
        board: Board[Games],
        rater: Rater | None,
        reporter: Reporter,
        worker: Worker,
        disk: DiskWatch,
    ) -> None:
        super().__init__(session.run, session.config.run, progress, rater, worker, disk)
        self.archive = archive
        self._session = session
        self._agents = agents
        self._board = board
        self._rater = rater
        self._reporter = reporter
        self._unrated: dict[str, Any] = {}  # what an earlier session knew of ratings, where this one rates nothing
        self._ledger_position = 0  # of the same

    async def begin(self) -> None:
        """The first generation and the first state of a new run.

        Raises:
            DiskError: a run that cannot even begin to save is not worth its time.
        """
        await self._freeze()
        self._set_pools()
        await self._write_state()

    async def restore(self, meta: LearnerMeta) -> None:
        """Go on from a state: the pool, and what is known of ratings."""
        self._progress.saved = meta.iteration
        for fault in await self._worker.submit(self.archive.restore, meta.generations, meta.extra):
            self._reporter.notice(f"Left out of the pool: {fault}")
        self._progress.generations = self.archive.generations
        self._progress.newest = self.archive.generations[-1]
        self._set_pools()  # somebody may be gone from the disk
        if self._rater is not None:
            self._rater.restore(meta.extra)
        else:
            self._ledger_position = meta.ledger_position
            self._unrated = {name: meta.extra[name] for name in RATER_STATE if name in meta.extra}

    async def save(self) -> None:
        """At a save point everything; between two, the state that could not be saved."""
        if self._is_point:
            await self._grow()
        await self.checkpoint()

    async def save_last(self) -> None:
        """The end of the run, unless it has been saved: nobody is to meet this generation."""
        progress = self._progress
        if progress.newest != generation_id(progress.iteration) or progress.saved != progress.iteration:
            await self.checkpoint()
            with self._disk.tolerate(GENERATION):
                await self._freeze()

    async def _remove_old(self, retention: Retention) -> None:
        await super()._remove_old(retention)
        await self._worker.submit(self.archive.sweep)  # policies that no state goes on with any more

    async def _grow(self) -> None:
        """A generation that opponents are drawn from, and exploiters that have done their work."""
        archive = self.archive
        hardest = {role: worst(agent, archive) for role, agent in self._agents.items() if role != MAIN}
        with self._disk.tolerate(GENERATION):
            await self._freeze()  # after that: nobody has met a new generation
        for role, target in hardest.items():
            if self._has_done_its_work(self._agents[role], target):
                with self._disk.tolerate(EXPLOITER):
                    await self._freeze_exploiter(self._agents[role], target)
        if archive.is_full:
            strengths = {} if self._rater is None else await self._rater.strengths(self._progress.generations)
            in_play = {name for agent in self._agents.values() for name in agent.frozen}
            tested = set() if self._rater is None else self._rater.tested
            best = {await self._best() or ""}
            await self._worker.submit(archive.thin, strengths, in_play | tested | best)
        self._set_pools()

    def _set_pools(self) -> None:
        for agent in self._agents.values():
            agent.matchmaker.set_pool(self.archive.generations, self.archive.exploiters, self.archive.guests)

    async def _freeze(self) -> None:
        """A generation of the main agent."""
        progress, archive = self._progress, self.archive
        parent = archive.generations[-1] if archive.generations else None
        name = generation_id(progress.iteration)
        meta, params = await self._worker.submit(
            self._agents[MAIN].learner.policy, name, progress.iteration, progress.total_steps, parent
        )
        progress.newest = await self._worker.submit(archive.save, meta, params)
        progress.generations = archive.generations

    def _has_done_its_work(self, agent: Agent, hardest: Target) -> bool:
        """Whether an exploiter wins, or has tried for long enough."""
        config = self._session.config
        patience = config.league.patience * config.run.save_interval
        return hardest.score >= WINS or self._progress.iteration - agent.since >= patience

    async def _freeze_exploiter(self, agent: Agent, hardest: Target) -> None:
        """An exploiter joins the pool; then it begins anew, if chance says so."""
        progress, worker = self._progress, self._worker
        name = f"{agent.role}_{progress.iteration}"
        policy = await worker.submit(agent.learner.policy, name, progress.iteration, progress.total_steps, None)
        name = await worker.submit(self.archive.save, *policy)
        agent.since = progress.iteration
        anew = begins_anew(agent, progress.iteration, self._session.config.run.seed)
        if anew:
            await worker.submit(agent.learner.begin, await worker.submit(self._first_weights))
            agent.matchmaker.forget()
            agent.began = progress.iteration
        then = "begins anew" if anew else "goes on"
        self._reporter.notice(f"{name} joins the league ({hardest}); {then}")

    def _first_weights(self) -> ActorCritic:
        """What an exploiter begins with. Blocks."""
        if self._session.config.run.pretrained is None:
            return self._agents[MAIN].learner.snapshot()
        return load_policy(self.archive.path(START)).network  # the pretrained weights, of which the run has a copy

    async def _write_state(self) -> None:
        progress, main = self._progress, self._agents[MAIN]
        arrays = await self._worker.submit(main.learner.arrays)
        for role, agent in self._agents.items():
            if role != MAIN:
                own = await self._worker.submit(agent.learner.arrays)
                arrays |= {f"{role}/{name}": array for name, array in own.items()}
        opponents: dict[str, Any] = {}
        if progress.iteration and not self._session.game.live:
            jobs: dict[str, Job[Games]] = {r: Job(_snapshot, timed=False) for r in self._session.blocks}
            for runner, (games, document) in (await self._board.ask(jobs)).items():
                arrays |= {f"games/{runner}/{name}": array for name, array in games.items()}
                opponents[runner] = document
        meta = LearnerMeta(
            iteration=progress.iteration,
            total_steps=progress.total_steps,
            elapsed_s=progress.elapsed_s,
            created=datetime.now(UTC),
            config=self._session.config.model_dump(mode="json"),
            matchmaker=main.matchmaker.state(),
            opponents=opponents,
            ledger_position=self._rater.rows if self._rater else self._ledger_position,
            generations=tuple(progress.generations),
            extra={
                "restarts": progress.restarts,
                "chaos": progress.chaos.document(),
                "agents": {role: agent.state() for role, agent in self._agents.items() if role != MAIN},
                **self.archive.state(),
                **(self._rater.state() if self._rater else self._unrated),
            },
        )
        await self._worker.submit(write_learner, self._session.run, meta, arrays)
        progress.saved = progress.iteration


def _snapshot(games: Games) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    return games.snapshot()
