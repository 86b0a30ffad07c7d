"""The agents of a run, the frozen policies that they play against, and how both are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import group
from selfplay.config.defaults import update_threads
from selfplay.league.modes import MAIN
from selfplay.league.records import START, generation_id
from selfplay.policy.policy import load_policy
from selfplay.train.disk import EXPLOITER, GENERATION, DiskWatch
from selfplay.train.fighting.agents import ROLES, WINS, Agent, Target, make_matchmaker, starts_over, worst
from selfplay.train.fighting.archive import Archive
from selfplay.train.fighting.learner import Learner

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.policy.network import ActorCritic
    from selfplay.report.reporter import Feed
    from selfplay.runner.worker import Worker
    from selfplay.train.family import Best
    from selfplay.train.fighting.session import Session
    from selfplay.train.learner_state import Arrays
    from selfplay.train.progress import Progress
    from selfplay.train.rater import Rater

OWN_CHOICE: Final = "own_choice_of_opponents"
"""In a state's ``extra``, where a function of the caller's chooses the opponents."""


class Population:
    """Agents by role, the main agent first, and the archive of frozen policies.

    Args:
        progress: Where the run stands; its generations are kept up to date.
    """

    def __init__(self, session: Session, progress: Progress, feed: Feed) -> None:
        self.agents: dict[str, Agent] = {}
        self.archive = Archive(session.run, session.config.league.population)
        self._session = session
        self._progress = progress
        self._feed = feed
        self._worker: Worker

    async def open(self, worker: Worker) -> None:
        """Make the agents of an incarnation of the training loop; of a crashed one only games in progress continue."""
        self._worker = worker
        in_play = {role: agent.frozen for role, agent in self.agents.items()}
        self.archive = Archive(self._session.run, self._session.config.league.population)
        self.agents = {}
        self.agents = await worker.submit(self._make_agents)
        for role, agent in self.agents.items():
            agent.frozen = in_play.get(role, {})

    def _make_agents(self) -> dict[str, Agent]:
        session = self._session
        played, external = set(session.roles.values()), bool(self.archive.load_external())
        threads = update_threads(session.config.run.threads)
        return {
            role: Agent(role, Learner(session, threads, role), make_matchmaker(session, role, external))
            for role in ROLES
            if role in played
        }

    async def begin(self) -> None:
        await self.freeze()
        self._set_pools()

    async def restore(self, state: LearnerState) -> None:
        """Continue from a state: learners, matchmakers and the archive."""
        meta, progress = state.meta, self._progress
        extra: Mapping[str, Any] = meta.extra
        for role, agent in self.agents.items():
            arrays = state.arrays if role == MAIN else group(state.arrays, role)
            await self._worker.submit(agent.learner.restore, arrays)
            agent.restore({"matchmaker": meta.matchmaker} if role == MAIN else extra["agents"][role])
        for fault in await self._worker.submit(self.archive.restore, meta.generations, extra):
            self._feed.notice(f"Left out of the pool: {fault}")
        progress.generations = self.archive.generations
        progress.newest = self.archive.generations[-1]
        self._set_pools()  # a policy may be gone from the disk

    async def load(self, role: str, names: Iterable[str]) -> None:
        frozen = self.agents[role].frozen
        for name in sorted(set(names) - set(frozen)):
            policy = await self._worker.submit(load_policy, self.archive.path(name), self._session.device)
            frozen[name] = policy.network

    async def first_policy(self) -> ActorCritic:
        """The policy that the run began with, of which it has a copy."""
        policy = await self._worker.submit(load_policy, self.archive.path(START), self._session.device)
        return policy.network

    async def freeze(self) -> None:
        """Save the main agent as a generation.

        Raises:
            DiskError: it cannot be written.
            LearnerError: a weight is not finite.
        """
        progress, archive = self._progress, self.archive
        parent = archive.generations[-1] if archive.generations else None
        name = generation_id(progress.iteration)
        meta, params = await self._worker.submit(
            self.agents[MAIN].learner.policy, name, progress.iteration, progress.total_steps, parent
        )
        progress.newest = await self._worker.submit(archive.save, meta, params)
        progress.generations = archive.generations

    async def add_generation(self, disk: DiskWatch, rater: Rater | None, best: Best) -> None:
        """Add a generation, and exploiters that have done their work; prune the archive where it is full."""
        archive = self.archive
        hardest = {role: worst(agent, archive) for role, agent in self.agents.items() if role != MAIN}
        with disk.tolerate(GENERATION):
            await self.freeze()  # after that: no agent has played the new generation
        for role, target in hardest.items():
            if self._has_done_its_work(self.agents[role], target):
                with disk.tolerate(EXPLOITER):
                    await self._freeze_exploiter(self.agents[role], target)
        if archive.is_full:
            strengths = {} if rater is None else await rater.strengths(self._progress.generations)
            in_play = {name for agent in self.agents.values() for name in agent.frozen}
            tested = set() if rater is None else rater.tested
            await self._worker.submit(archive.prune, strengths, in_play | tested | {await best() or ""})
        self._set_pools()

    def _set_pools(self) -> None:
        for agent in self.agents.values():
            agent.matchmaker.set_pool(
                self.archive.generations, self.archive.exploiters, self.archive.external_opponents
            )

    def _has_done_its_work(self, agent: Agent, hardest: Target) -> bool:
        """Return True if an exploiter wins, or its ``patience`` has run out."""
        config = self._session.config
        patience = config.league.patience * config.run.save_interval
        return hardest.score >= WINS or self._progress.iteration - agent.since >= patience

    async def _freeze_exploiter(self, agent: Agent, hardest: Target) -> None:
        """Add an exploiter to the archive; then it starts again from first weights, by chance."""
        progress, worker = self._progress, self._worker
        name = f"{agent.role}_{progress.iteration}"
        policy = await worker.submit(agent.learner.policy, name, progress.iteration, progress.total_steps, None)
        name = await worker.submit(self.archive.save, *policy)
        agent.since = progress.iteration
        over = starts_over(agent, progress.iteration, self._session.config.run.seed)
        if over:
            await worker.submit(agent.learner.begin, await worker.submit(self._first_weights))
            agent.matchmaker.forget()
            agent.began = progress.iteration
        then = "starts over" if over else "goes on"
        self._feed.notice(f"{name} joins the league ({hardest}); {then}")

    def _first_weights(self) -> ActorCritic:
        """The weights that an exploiter starts with. Blocks."""
        if self._session.config.run.pretrained is None:
            return self.agents[MAIN].learner.snapshot()
        return load_policy(self.archive.path(START)).network  # the pretrained weights, of which the run has a copy

    async def arrays(self) -> Arrays:
        arrays = await self._worker.submit(self.agents[MAIN].learner.arrays)
        for role, agent in self.agents.items():
            if role != MAIN:
                own = await self._worker.submit(agent.learner.arrays)
                arrays |= {f"{role}/{name}": array for name, array in own.items()}
        return arrays

    def state(self) -> dict[str, Any]:
        own = {} if self._session.hooks.opponents is None else {OWN_CHOICE: True}
        others = {role: agent.state() for role, agent in self.agents.items() if role != MAIN}
        return {
            "matchmaker": self.agents[MAIN].matchmaker.state(),
            "extra": {"agents": others, **self.archive.state()} | own,
        }

    async def sweep(self) -> None:
        """Delete policies that no state needs any more."""
        await self._worker.submit(self.archive.sweep)

    def close(self) -> None:
        for agent in self.agents.values():
            self._worker.submit(agent.learner.close)
