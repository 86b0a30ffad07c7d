"""Deadlines while the event loop is blocked: they count time in which a child could run."""

import asyncio

import pytest

from selfplay.supervision import SHUTDOWN, ChildSpec, Supervisor, SupervisorSpec
from tests.supervision.children import Stubborn, until

LONG_S = 1000.0


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time can jump, as it does for one that was blocked."""

    blocked_s = 0.0

    def time(self):
        return super().time() + self.blocked_s

    def block(self):
        self.blocked_s += LONG_S


def on_a_loop(main):
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main(runner.get_loop()))


def tree(*children):
    return Supervisor(SupervisorSpec(children=children))


async def turns():
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.mark.parametrize("end", [lambda root: root.finish(SHUTDOWN), Supervisor.kill], ids=["stopped", "killed"])
def test_a_child_that_cleans_up_is_not_abandoned_because_the_loop_was_blocked(end):
    async def main(loop):
        phases = []

        async def cleans_up(ctx):
            ctx.ready()
            try:
                await loop.create_future()
            finally:
                phases.append("cleans up")
                await turns()
                phases.append("done")

        root = tree(ChildSpec("a", cleans_up, shutdown_s=5))
        await root.start()
        end(root)
        await until(lambda: phases)
        loop.block()
        await until(lambda: "done" in phases)
        await root.wait()
        assert root.abandoned_total == 0

    on_a_loop(main)


def test_a_child_is_not_late_because_the_loop_was_blocked():
    async def main(loop):
        async def starts_slowly(ctx):
            loop.block()
            await turns()
            ctx.ready()
            await loop.create_future()

        root = tree(ChildSpec("a", starts_slowly, start_timeout_s=5))
        await root.start()
        await root.stop()

    on_a_loop(main)


def test_a_loop_that_is_blocked_again_and_again_does_not_put_a_deadline_off_for_ever():
    async def main(loop):
        stubborn = Stubborn()
        root = tree(ChildSpec("a", stubborn, shutdown_s=5))
        await root.start()
        stopping = asyncio.ensure_future(root.stop())
        await until(lambda: loop.block() or root.abandoned_total, turns=50)
        stubborn.release()
        await stopping

    on_a_loop(main)
