"""The training loop of the benchmark, with and without the supervision tree."""

from __future__ import annotations

import asyncio
import io
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.bench.speed import GAMES, ROLLOUT, fixed_config
from selfplay.checkpoint import LearnerMeta, RunDir, save_learner, save_policy
from selfplay.errors import SelfPlayError
from selfplay.games.registry import make_game
from selfplay.league.records import generation_id
from selfplay.ppo.batch import iteration_report
from selfplay.ppo.learner import Learner
from selfplay.ppo.session import Hooks, Session
from selfplay.ppo.training import PPOTraining
from selfplay.report.outputs import reporters
from selfplay.report.reporter import Feed, Tee
from selfplay.run.progress import Phases, Progress, chaos_of
from selfplay.run.stopping import Stop
from selfplay.run.tree import Tree
from selfplay.runner.block import Block
from selfplay.runner.segment import SegmentOrder
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from selfplay.policy.network import ActorCritic
    from selfplay.report.metrics import IterationReport

ITERATIONS = 5  # of one sample; the first is not counted


@dataclass(slots=True)
class Times:
    """Seconds of iterations: all of it, collecting, updating."""

    total: list[float] = field(default_factory=list)
    collect: list[float] = field(default_factory=list)
    update: list[float] = field(default_factory=list)

    def add(self, phases: Mapping[str, float]) -> None:
        self.total.append(sum(phases.values()))
        self.collect.append(phases["collect"])
        self.update.append(phases["update"])

    def extend(self, other: Times) -> None:
        self.total += other.total
        self.collect += other.collect
        self.update += other.update


def make_session(
    folder: str = "unused",
    games: int = GAMES,
    iterations: int = ITERATIONS,
    device: str = "cpu",
    callbacks: tuple[Callable[[IterationReport], object], ...] = (),
) -> Session:
    """A session of the fixed configuration, which saves once before its last iteration."""
    config = fixed_config(folder, iterations=iterations, games=games)
    values = config.model_dump()
    values["run"]["save_interval"] = iterations - 1
    hooks = Hooks(callbacks=callbacks)
    return Session(type(config).model_validate(values), RunDir(Path(folder)), device, hooks=hooks)


def with_tree(games: int = GAMES, iterations: int = ITERATIONS, device: str = "cpu") -> Times:
    """One sample under the supervision tree, with TensorBoard, metrics, log and checkpoints."""
    reports: list[IterationReport] = []
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_supervised(make_session(folder, games, iterations, device, (reports.append,))))
    times = Times()
    for report in reports[1:]:
        times.add(report.phase_s)
    return times


async def _supervised(session: Session) -> None:
    """Run a session to its end under the supervision tree."""
    outputs = reporters(session.run.path, io.StringIO(), live=False)
    feed = Feed(Tee([*outputs.values()]))
    stop = Stop()
    tree = Tree(PPOTraining(session, feed, stop), stop)
    await tree.root.start()
    reason = await tree.root.wait()
    feed.close()
    await feed.run()
    if reason.cause is not None:
        raise SelfPlayError(str(reason.cause))


def without_tree() -> Times:
    """The same sample without supervision and event loop: threads for the blocks, the same outputs."""
    with tempfile.TemporaryDirectory() as folder:
        session = make_session(folder)
        outputs = Tee(list(reporters(session.run.path, io.StringIO(), live=False).values()))
        learner = Learner(session, threads=len(session.blocks))
        try:
            return _called_directly(session, learner, outputs)
        finally:
            learner.close()
            outputs.close()


def _called_directly(session: Session, learner: Learner, outputs: Tee) -> Times:
    times, progress = Times(), Progress(chaos_of(session.config.run, None))
    _freeze(session, learner, progress)
    with ThreadPoolExecutor(len(session.blocks)) as pool:
        blocks = make_blocks(session)
        while progress.iteration < ITERATIONS:
            phases = Phases(progress)
            order = SegmentOrder(progress.iteration, ROLLOUT, progress.iteration, learner.snapshot(), {}, ())
            collected = list(pool.map(partial(Block.collect, order=order), blocks))
            phases.end("collect")
            update = learner.update([part.rollout for part in collected], progress.iteration, 0.0)
            phases.end("update")
            progress.iteration += 1
            progress.total_steps += session.config.steps_per_iteration
            if progress.iteration % session.config.run.save_interval == 0:
                _save(session, learner, progress)
                phases.end("save")
            outputs.iteration(iteration_report(session, progress, collected, update, phases.seconds))
            for part in collected:
                part.release()
            if progress.iteration > 1:
                times.add(phases.seconds)
    return times


def _freeze(session: Session, learner: Learner, progress: Progress) -> None:
    name = generation_id(progress.iteration)
    policy = learner.policy(name, progress.iteration, progress.total_steps, None)
    save_policy(session.run.generations / name, *policy)


def _save(session: Session, learner: Learner, progress: Progress) -> None:
    _freeze(session, learner, progress)
    meta = LearnerMeta(
        iteration=progress.iteration,
        total_steps=progress.total_steps,
        elapsed_s=progress.elapsed_s,
        created=datetime.now(UTC),
    )
    save_learner(session.run, meta, learner.arrays())


def make_blocks(session: Session) -> list[Block]:
    """The blocks of games of a session, as its runners open them."""
    return [
        Block(make_game("mock", **session.game_options(games)), derive(0, name, 1))
        for name, games in session.blocks.items()
    ]


def network() -> ActorCritic:
    """A fresh network of the loop."""
    learner = Learner(make_session(), threads=1)
    learner.close()
    return learner.network


def rollout_bytes_per_game() -> int:
    """Bytes of one segment of one game, both seats."""
    session = make_session()
    learner = Learner(session, threads=1)
    block = Block(make_game("mock", **session.game_options(1)), 0)
    rollout = block.collect(SegmentOrder(0, ROLLOUT, 0, learner.snapshot(), {}, ())).rollout
    learner.close()
    names = ("obs", "action", "logprob", "value", "reward", "next_value", "boundary", "learner")
    return sum(getattr(rollout, name).nbytes for name in names)
