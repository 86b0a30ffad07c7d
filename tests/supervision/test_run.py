"""The end of a program in which an abandoned child still runs."""

import asyncio
import sys

import pytest

from selfplay.supervision import run
from tests.support.processes import finish

PROGRAM = """
import asyncio, sys
from selfplay.supervision import ChildSpec, Supervisor, SupervisorSpec, run, tasks
tasks.LAST_S = 0.01

async def stubborn(ctx):
    ctx.ready()
    while True:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            pass

async def main():
    root = Supervisor(SupervisorSpec(children=(ChildSpec("a", stubborn, shutdown_s=0.01),)))
    await root.start()
    await root.stop()
    {last}

sys.exit(run(main()))
"""


@pytest.mark.parametrize(
    ("last", "code", "told"),
    [
        ("return len(root.abandoned) + 6", 7, ""),
        ("raise OSError('no disc')", 1, "OSError: no disc"),
    ],
)
def test_a_program_ends_although_an_abandoned_child_swallows_every_cancellation(last, code, told):
    program = PROGRAM.replace("{last}", last)
    done = finish([sys.executable, "-c", program])
    assert done.returncode == code
    assert done.stderr.strip().endswith(told) if told else done.stderr == ""


INTERRUPTED = """
import asyncio, signal
from selfplay.supervision import run, tasks
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
tasks.LAST_S = 1e6

async def stubborn():
    while True:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            signal.raise_signal(signal.SIGINT)

async def main():
    global task
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)

try:
    run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_one_interrupt_is_enough_while_what_is_left_is_waited_for():
    done = finish([sys.executable, "-c", INTERRUPTED])
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


@pytest.mark.leaves("task")
def test_what_can_clean_up_is_waited_for():
    log = []

    async def main():
        async def cleans_up():
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await asyncio.sleep(0)
                log.append("clean")

        task = asyncio.get_running_loop().create_task(cleans_up())
        await asyncio.sleep(0)
        return task

    assert run(main()).cancelled()
    assert log == ["clean"]
