"""Where too much hangs the run saves, ends, and says why."""

import asyncio

import pytest

from selfplay.run.monitoring.abandoned_limit import AbandonedLimit
from selfplay.runner.worker import Worker
from selfplay.supervision import ChildSpec, Supervisor, SupervisorSpec
from tests.supervision.children import Remote, Stubborn, fake_time, forever


class Guarded:
    """A learner and another child under the eyes of an AbandonedLimit."""

    def __init__(self, clock, child, limit):
        children = (ChildSpec("a", child, shutdown_s=1), ChildSpec("learner", forever, shutdown_s=1))
        self.root = Supervisor(
            SupervisorSpec(children=children, intensity=99),
            clock=clock,
            on_report=lambda report: self.excess.on_report(report),
        )
        self.stop, self.told = asyncio.Event(), []
        self.excess = AbandonedLimit(limit, self.root, self.stop, self.told.append)


@pytest.fixture
def hanging(monkeypatch):
    """How many threads hang, as the test says."""
    count = [0]
    monkeypatch.setattr(Worker, "hanging", classmethod(lambda cls: count[0]))
    return count


def test_threads_and_children_count_together(hanging):
    @fake_time
    async def run(clock):
        remote, stubborn = Remote(), Stubborn()
        guarded = Guarded(clock, remote, 2)
        await guarded.root.start()
        hanging[0] = 2
        remote.end("a", RuntimeError("no segment within 2 s"))
        await clock.idle()
        assert not guarded.stop.is_set()
        await guarded.root.start_child(ChildSpec("b", stubborn, shutdown_s=1))
        await guarded.root.terminate_child("b")
        assert guarded.stop.is_set()
        assert guarded.told == [
            "Too much hangs, 3 threads and children in all: stopping after this iteration, with a checkpoint"
        ]
        told = str(guarded.excess.error)
        assert told.startswith("Too much hangs, 3 threads and children in all (guard.max_abandoned is 2), ")
        assert told.endswith("first cause: root/a: RuntimeError: no segment within 2 s")
        assert guarded.excess.error.exit_code == 4
        assert guarded.root.alive  # the learner ends it
        stubborn.release()
        await guarded.root.stop()

    run()


def test_those_that_came_back_are_forgotten(hanging):
    @fake_time
    async def run(clock):
        remote = Remote()
        guarded = Guarded(clock, remote, 1)
        await guarded.root.start()
        for number in range(1, 9):
            hanging[0] = number % 2
            remote.end("a", RuntimeError(f"hang {number}"))
            await clock.idle()
        assert guarded.excess.error is None
        hanging[0] = 2
        remote.end("a", RuntimeError("the first of those that stay"))
        await clock.idle()
        assert str(guarded.excess.error).endswith("the first of those that stay")
        await guarded.root.stop()

    run()


def test_where_the_learner_cannot_end_the_run_it_is_stopped_at_once(hanging):
    @fake_time
    async def run(clock):
        remote = Remote()
        guarded = Guarded(clock, remote, 0)
        await guarded.root.start()
        await guarded.root.terminate_child("learner")
        hanging[0] = 1
        remote.end("a", RuntimeError("hang"))
        assert (await guarded.root.wait()).kind == "shutdown"
        assert guarded.told == [
            "Too much hangs, 1 threads and children in all: stopping at once, at the last checkpoint"
        ]

    run()
