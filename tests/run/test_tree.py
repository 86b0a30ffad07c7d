"""Runners of a run in progress, by id."""

import asyncio

import pytest

from selfplay.checkpoint import create_run
from selfplay.cli.ppo import parse
from selfplay.ppo.session import Session
from selfplay.ppo.training import PPOTraining
from selfplay.report.reporter import Feed
from selfplay.run.stopping import Stop
from selfplay.run.tree import Tree
from selfplay.supervision import NotFoundError, Pool, running
from tests.report.make import Recorder
from tests.run.runs import TINY

LONG = [str(argument) for argument in (*TINY, "--timesteps", 10**6, "--save-interval", 10**6, "--runners", 2)]


class Reports(Feed):
    """Tells of iterations as they end, and remembers how many experiences each had."""

    def __init__(self):
        super().__init__(Recorder())
        self.experiences = []
        self._ended = asyncio.Event()

    def iteration(self, report):
        super().iteration(report)
        self.experiences.append(report.experiences)
        self._ended.set()
        self._ended = asyncio.Event()

    async def iterations(self, count):
        goal = len(self.experiences) + count
        while len(self.experiences) < goal:
            await self._ended.wait()


def train(folder, *arguments):
    """Run a coroutine function in the middle of a run."""
    session = Session(parse([*LONG, *arguments]).config, create_run(folder), "cpu")

    def decorate(work):
        async def main():
            stop, reports = Stop(), Reports()
            tree = Tree(PPOTraining(session, reports, stop), stop)
            async with running(tree.root):
                await reports.iterations(1)
                result = await work(tree, reports)
                stop.set()
                await tree.root.wait()
                return result

        return asyncio.run(main())

    return decorate


def ids(pool):
    return [child.id for child in pool.which_children()]


def test_runners_are_listed_stopped_and_started_by_id(tmp_path):
    @train(tmp_path / "run")
    async def restarts(tree, reports):
        pool = tree.root.find("runners", Pool)
        assert ids(pool) == ["runner-000", "runner-001"]
        await pool.terminate_child("runner-001")
        assert ids(pool) == ["runner-000"]
        with pytest.raises(NotFoundError):
            await pool.terminate_child("runner-001")
        await reports.iterations(3)  # training goes on with those that are left
        assert tree.training.runners.queue.expected == {"runner-000"}
        await tree.start_runners()
        await reports.iterations(2)
        assert sorted(ids(pool)) == ["runner-000", "runner-001"]
        assert tree.training.runners.queue.expected == {"runner-000", "runner-001"}
        return tree.loop.progress.restarts

    assert restarts == 0  # what is asked for is no failure


def test_fewer_runners_give_fewer_experiences(tmp_path):
    @train(tmp_path / "run", "--mode", "latest")
    async def experiences(tree, reports):
        await tree.root.find("runners", Pool).terminate_child("runner-000")
        await reports.iterations(3)
        return reports.experiences

    whole, *_, last = experiences
    assert whole == 2 * last
