"""Game runners under a real pool, on resources that break in every way."""

import asyncio
import threading
import types
from contextlib import asynccontextmanager

from selfplay.runner.game_runner import GameRunner
from selfplay.supervision import ChildExited, ChildSpec, Pool, PoolSpec, running
from tests.support.processes import LIMIT_S


class Fake:
    """A resource; what happens to it is written to ``log``."""

    def __init__(self, runner, incarnation, log, *, can_kill=False):
        self.name = (runner, incarnation)
        self.incarnation = incarnation
        self.gate = threading.Event()  # what hanging work waits for
        self.cancelled = threading.Event()
        self._log = log
        self._can_kill = can_kill
        log.append(("open", *self.name))

    def hang(self):
        self.gate.wait()
        if self.cancelled.is_set():
            raise RuntimeError("ended by force")
        return "late"

    def cancel(self):
        self._log.append(("cancel", *self.name))
        self.cancelled.set()
        self.gate.set()

    def kill(self):
        self._log.append(("kill", *self.name))
        if self._can_kill:
            self.cancelled.set()
            self.gate.set()
        return self._can_kill

    def close(self):
        self._log.append(("close", *self.name))


class Resources:
    """Opens fakes and remembers them; ``fail`` makes the first openings raise."""

    def __init__(self, *, can_kill=False, fail=0):
        self.log = []
        self.made = {}
        self._can_kill = can_kill
        self._fail = fail

    def open(self, runner, incarnation):
        if incarnation <= self._fail:
            raise OSError(f"no game for {runner}, attempt {incarnation}")
        made = Fake(runner, incarnation, self.log, can_kill=self._can_kill)
        self.made[runner, incarnation] = made
        return made

    def count(self, what):
        return sum(event[0] == what for event in self.log)

    def release(self):
        """Let every thread that hangs go on."""
        for made in self.made.values():
            made.gate.set()


@asynccontextmanager
async def runners(queue, resources, names=("a",), wrap=lambda child: child, opening=None, park=None):
    """A pool of runners, and the list of reports that it fills."""
    reports = []
    pool = Pool(PoolSpec(intensity=100, period_s=60.0, park=park), name="runners", on_report=reports.append)
    try:
        async with running(pool):
            for name in names:
                await pool.start_child(ChildSpec(name, wrap(GameRunner(queue, resources.open, opening).run)))
            try:
                yield pool, reports
            finally:
                resources.release()
    finally:
        for thread in threading.enumerate():
            if thread.name in names:
                thread.join(LIMIT_S)


def failures(reports):
    """Messages of the children that ended by themselves."""
    return [report.reason.message for report in reports if isinstance(report, ChildExited) and not report.asked]


@types.coroutine
def throwing(coroutine, at, error):
    """Run a coroutine and throw ``error`` into it where it waits for the ``at``-th time; the number of its waits."""
    waits = 0
    try:
        waited = coroutine.send(None)
        while True:
            waits += 1
            if waits == at:
                if waited is not None:
                    waited._asyncio_future_blocking = False  # nobody will wait for it
                waited = coroutine.throw(error)
            else:
                try:
                    sent = yield waited
                except BaseException as thrown:
                    waited = coroutine.throw(thrown)
                else:
                    waited = coroutine.send(sent)
    except StopIteration as end:
        return end.value


async def settle():
    """Let everything happen that can happen now."""
    for _ in range(10):
        await asyncio.sleep(0)
