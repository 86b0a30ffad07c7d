"""Runners of a run in progress, by id."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from selfplay.checkpoint import create_run
from selfplay.errors import RunnerError
from selfplay.report.reporter import Feed, Tee
from selfplay.supervision import NotFoundError, running
from selfplay.trainer.cli import parse
from selfplay.trainer.session import Session
from selfplay.trainer.tree import Runners, Tree
from tests.report.make import Recorder
from tests.trainer.runs import TINY

ENDLESS = [str(argument) for argument in (*TINY, "--timesteps", 10**9, "--save-interval", 10**6, "--runners", 2)]


class Reports(Recorder):
    """Remembers how many experiences each iteration had."""

    def __init__(self):
        super().__init__()
        self.experiences = []

    def iteration(self, report):
        self.experiences.append(report.experiences)


@asynccontextmanager
async def training(folder, *arguments):
    """A tree that trains, its reports, and a wait for some more iterations."""
    reports = Reports()
    session = Session(parse([*ENDLESS, *arguments]).config, create_run(folder), "cpu")
    stop = asyncio.Event()
    tree = Tree(session, Feed(Tee([reports])), stop)

    async def iterations(count):
        goal = tree.loop.progress.iteration + count
        while tree.loop.progress.iteration < goal:
            await asyncio.sleep(0.005)

    async with running(tree.root):
        await iterations(1)
        yield tree, reports, iterations
        stop.set()
        await tree.root.wait()


def test_runners_are_listed_counted_stopped_and_started_by_id(tmp_path):
    async def main():
        async with training(tmp_path / "run", "--mode", "latest") as (tree, _, iterations):
            runners = Runners(tree.root)
            assert runners.ids() == ["runner-000", "runner-001"]
            assert runners.count() == 2
            await runners.stop("runner-001")
            assert runners.ids() == ["runner-000"]
            with pytest.raises(NotFoundError):
                await runners.stop("runner-001")
            await iterations(3)  # training goes on with those that are left
            assert tree.board.expected == {"runner-000"}
            await tree.start_runners()
            await iterations(2)
            assert sorted(runners.ids()) == ["runner-000", "runner-001"]
            assert tree.board.expected == {"runner-000", "runner-001"}
            return tree.loop.progress.restarts

    assert asyncio.run(main()) == 0  # what is asked for is no failure


def test_an_id_is_given_once(tmp_path):
    async def main():
        async with training(tmp_path / "run") as (tree, _, _):
            spec = tree._runner_specs()["runner-000"]
            with pytest.raises(RunnerError, match="'runner-000' is there already"):
                await Runners(tree.root).start(spec)

    asyncio.run(main())


def test_fewer_runners_give_fewer_experiences(tmp_path):
    async def main():
        async with training(tmp_path / "run", "--mode", "latest") as (tree, reports, iterations):
            await Runners(tree.root).stop("runner-000")
            await iterations(4)
        return reports.experiences

    whole, *_, last = asyncio.run(main())
    assert whole == 2 * last
