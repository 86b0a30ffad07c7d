"""The agents of a run, the frozen policies that they play against, and how both are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import group
from selfplay.errors import IncompatibleError
from selfplay.league.modes import MAIN
from selfplay.league.records import START, generation_id
from selfplay.machine import update_threads
from selfplay.policy.policy import load_policy
from selfplay.ppo.agents import ROLES, WINS, Agent, Target, make_matchmaker, starts_over, worst
from selfplay.ppo.archive import Archive
from selfplay.ppo.learner import Learner
from selfplay.run.disk import EXPLOITER, GENERATION, DiskWatch
from selfplay.run.training import Learners
from selfplay.runner.work_queue import Job

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.policy.network import ActorCritic
    from selfplay.ppo.session import Session
    from selfplay.report.reporter import Feed
    from selfplay.run.learner_state import Arrays
    from selfplay.run.progress import Progress
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.training import Best
    from selfplay.runner.segment import GameBlock
    from selfplay.runner.work_queue import WorkQueue

OWN_CHOICE: Final = "own_choice_of_opponents"
"""In a state's ``extra``, where a function of the caller's chooses the opponents."""


class Population(Learners):
    """Agents by role, the main agent first, and the archive of frozen policies.

    Args:
        progress: Where the run stands; its generations are kept up to date.
        queue: Of the runners, whose games in progress are part of a state.
    """

    def __init__(self, session: Session, progress: Progress, feed: Feed, queue: WorkQueue[GameBlock]) -> None:
        self.agents: dict[str, Agent] = {}
        self.archive = Archive(session.run, session.config.league.population)
        self.teacher: ActorCritic | None = None  # of the main agent; exploiters are free
        self.unplayable: frozenset[str] = frozenset()  # runners whose games of the checkpoint lack an opponent
        self._session = session
        self._progress = progress
        self._feed = feed
        self._queue = queue

    async def open(self) -> None:
        """Make the agents of an incarnation of the training loop; of a crashed one only games in progress continue."""
        self.teacher = None
        in_play = {role: agent.frozen for role, agent in self.agents.items()}
        self.archive = Archive(self._session.run, self._session.config.league.population)
        self.agents = {}
        self.agents = await self.worker.submit(self._make_agents)
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
            saved = {"matchmaker": meta.matchmaker} if role == MAIN else extra.get("agents", {}).get(role)
            if saved is None:
                raise IncompatibleError(f"{state.path}: it has no {role}")
            await self.worker.submit(agent.learner.restore, arrays)
            agent.restore(saved)
        for fault in await self.worker.submit(self.archive.restore, meta.generations, extra):
            self._feed.notice(f"Left out of the pool: {fault}")
        progress.generations = self.archive.generations
        progress.newest = self.archive.generations[-1]
        self._set_pools()  # a policy may be gone from the disk
        if state is self._session.resumed:  # runners continue the games of the checkpoint, against their opponents
            await self._load_in_play(meta.opponents)

    async def _load_in_play(self, opponents: Mapping[str, Any]) -> None:
        """Load the frozen policies that games of a checkpoint need; where one is gone, the games start over."""
        broken = set()
        for runner, role in self._session.roles.items():
            names = _in_play(opponents.get(runner))
            if await self.worker.submit(self.archive.has, names):
                await self.load(role, names)
            else:
                broken.add(runner)
                self._feed.notice(f"{runner} begins new games: an opponent of its games in progress is gone")
        self.unplayable = frozenset(broken)

    async def load(self, role: str, names: Iterable[str]) -> None:
        frozen = self.agents[role].frozen
        for name in sorted(set(names) - set(frozen)):
            policy = await self.worker.submit(load_policy, self.archive.path(name), self._session.device)
            frozen[name] = policy.network

    async def load_teacher(self) -> None:
        """Take the average of the learner's weights, or load the policy that the run began with, if there is one."""
        ppo = self._session.config.ppo
        if ppo.average:
            self.teacher = self.agents[MAIN].learner.average if ppo.teacher_kl or ppo.teacher_kl_reverse else None
        elif self.teacher is None and self._session.config.run.pretrained is not None:
            policy = await self.worker.submit(load_policy, self.archive.path(START), self._session.device)
            self.teacher = policy.network

    async def freeze(self) -> None:
        """Save the main agent as a generation."""
        progress, archive = self._progress, self.archive
        parent = archive.generations[-1] if archive.generations else None
        name = generation_id(progress.iteration)
        meta, params = await self.worker.submit(
            self.agents[MAIN].learner.policy, name, progress.iteration, progress.total_steps, parent
        )
        progress.newest = await self.worker.submit(archive.save, meta, params)
        progress.generations = archive.generations

    async def add_generation(self, collected: object, disk: DiskWatch, rating: RatingGames | None, best: Best) -> None:
        """Add a generation, and exploiters that have done their work; prune the archive where it is full."""
        del collected
        archive = self.archive
        hardest = {role: worst(agent, archive) for role, agent in self.agents.items() if role != MAIN}
        with disk.tolerate(GENERATION):
            await self.freeze()  # after that: no agent has played the new generation
        for role, target in hardest.items():
            if self._has_done_its_work(self.agents[role], target):
                with disk.tolerate(EXPLOITER):
                    await self._freeze_exploiter(self.agents[role], target)
        if archive.is_full:
            strengths = {} if rating is None else await rating.strengths(self._progress.generations)
            in_play = {name for agent in self.agents.values() for name in agent.frozen}
            tested = set() if rating is None else rating.tested
            await self.worker.submit(archive.prune, strengths, in_play | tested | {await best() or ""})
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
        progress, worker = self._progress, self.worker
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

    async def state(self) -> tuple[dict[str, Any], Arrays]:
        session, main = self._session, self.agents[MAIN]
        arrays = await self.worker.submit(main.learner.arrays)
        others: dict[str, Any] = {}
        for role, agent in self.agents.items():
            if role != MAIN:
                own = await self.worker.submit(agent.learner.arrays)
                arrays |= {f"{role}/{name}": array for name, array in own.items()}
                others[role] = agent.state()
        opponents: dict[str, Any] = {}
        if self._progress.iteration and not session.game.real_time:
            snapshot: Job[GameBlock] = Job(methodcaller("snapshot"), timed=False)
            for runner, (games, document) in (await self._queue.ask(dict.fromkeys(session.blocks, snapshot))).items():
                arrays |= {f"games/{runner}/{name}": array for name, array in games.items()}
                opponents[runner] = document
        own_choice = {} if session.hooks.opponents is None else {OWN_CHOICE: True}
        extra = {"agents": others, **self.archive.state()} | own_choice
        return {"matchmaker": main.matchmaker.state(), "extra": extra, "opponents": opponents}, arrays

    async def sweep(self) -> None:
        """Delete policies that no state needs any more."""
        await self.worker.submit(self.archive.sweep)

    def close(self) -> None:
        for agent in self.agents.values():
            self.worker.submit(agent.learner.close)


def _in_play(document: Mapping[str, Any] | None) -> set[str]:
    """Frozen policies that the games of a block go on against; ``document`` is what it said of itself."""
    return {name for kind, name, _ in (document or {}).get("opponents", ()) if kind == "generation"}
