"""The training loop as the benchmark runs it: under the tree, and without it."""

from __future__ import annotations

import asyncio
import io
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from envs.registry import make_game
from selfplay.checkpoint import LearnerMeta, RunDir, save_learner
from selfplay.errors import SelfPlayError
from selfplay.report.outputs import reporters
from selfplay.report.reporter import Feed, Tee
from selfplay.runner.block import Block, Collected, SegmentOrder
from selfplay.seeding import derive
from selfplay.trainer.bench import ROLLOUT, fixed_config
from selfplay.trainer.learner import Learner
from selfplay.trainer.session import Session
from selfplay.trainer.tree import Tree

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.report.metrics import IterationReport

ITERATIONS = 5  # of one sample; the first is not counted


@dataclass(slots=True)
class Times:
    """Seconds of iterations: all of it, collecting, updating."""

    total: list[float] = field(default_factory=list)
    collect: list[float] = field(default_factory=list)
    update: list[float] = field(default_factory=list)

    def extend(self, other: Times) -> None:
        """Add another sample's."""
        self.total += other.total
        self.collect += other.collect
        self.update += other.update


class _Listener:
    """A reporter that keeps the times."""

    def __init__(self) -> None:
        self.reports: list[IterationReport] = []

    def header(self, lines: object) -> None:
        """Not a time."""

    def notice(self, text: str) -> None:
        """Not a time."""

    def leaderboard(self, text: str) -> None:
        """Not a time."""

    def iteration(self, report: IterationReport) -> None:
        """Keep it."""
        self.reports.append(report)

    def close(self) -> None:
        """Nothing to let go of."""


def _session(folder: str) -> Session:
    config = fixed_config(folder, iterations=ITERATIONS)
    values = config.model_dump()
    values["run"]["save_interval"] = ITERATIONS - 1
    run = RunDir(Path(folder))
    return Session(type(config).model_validate(values), run, "cpu")


def with_tree() -> Times:
    """One sample under the supervision tree, with TensorBoard, metrics, log and checkpoints."""
    with tempfile.TemporaryDirectory() as folder:
        listener = asyncio.run(_supervised(_session(folder)))
    times = Times()
    for report in listener.reports[1:]:
        times.total.append(report.seconds)
        times.collect.append(report.phase_s["collect"])
        times.update.append(report.phase_s["update"])
    return times


async def _supervised(session: Session) -> _Listener:
    listener = _Listener()
    outputs = reporters(session.run.path, io.StringIO(), live=False)
    feed = Feed(Tee([*outputs.values(), listener]))
    tree = Tree(session, feed, asyncio.Event())
    await tree.root.start()
    await tree.root.wait()
    feed.close()
    await feed.run()
    if tree.first_cause:
        raise SelfPlayError(tree.first_cause)
    return listener


class WithoutTree:
    """The same work called directly: threads for the blocks, no supervision, no event loop."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._session = session = _session(self._folder.name)
        self._learner = Learner(session, threads=len(session.blocks))
        self._learner.save_generation(0, 0, None)
        self._outputs = Tee(list(reporters(session.run.path, io.StringIO(), live=False).values()))
        self._pool = ThreadPoolExecutor(len(session.blocks))
        self._blocks = [
            Block(make_game("mock", **session.game_options(games)), derive(0, name, 1))
            for name, games in session.blocks.items()
        ]

    def sample(self) -> Times:
        """One sample, as ``with_tree`` takes it."""
        times = Times()
        for i in range(ITERATIONS):
            started = time.perf_counter()
            collected = self._collect(self._learner.snapshot())
            middle = time.perf_counter()
            self._learner.update([part.rollout for part in collected], 0.0)
            updated = time.perf_counter()
            if i + 2 == ITERATIONS:
                arrays = self._learner.arrays()
                meta = LearnerMeta(iteration=i, total_steps=0, elapsed_s=0.0, created=datetime.now(UTC))
                save_learner(self._session.run, meta, arrays)
            if i:
                times.total.append(time.perf_counter() - started)
                times.collect.append(middle - started)
                times.update.append(updated - middle)
        return times

    def _collect(self, network: ActorCritic) -> list[Collected]:
        order = SegmentOrder(0, ROLLOUT, 0, network, {}, ())
        return list(self._pool.map(lambda block: block.collect(order), self._blocks))

    def close(self) -> None:
        """Let threads and files go."""
        self._outputs.close()
        self._learner.close()
        self._pool.shutdown()
        self._folder.cleanup()


def blocks() -> int:
    """Runners of the loop: its threads."""
    return len(_session("unused").blocks)


def network() -> ActorCritic:
    """The loop's network, fresh."""
    learner = Learner(_session("unused"), threads=1)
    learner.close()
    return learner.network


def rollout_bytes_per_game() -> int:
    """Of one segment, both seats."""
    session = _session("unused")
    learner = Learner(session, threads=1)
    block = Block(make_game("mock", **session.game_options(1)), 0)
    rollout = block.collect(SegmentOrder(0, ROLLOUT, 0, learner.snapshot(), {}, ())).rollout
    learner.close()
    names = ("obs", "action", "logprob", "value", "reward", "next_value", "boundary", "learner")
    return sum(getattr(rollout, name).nbytes for name in names)
