"""Children that do not start or do not end, and the times that reports carry."""

import asyncio
from contextlib import suppress

import pytest

from selfplay.supervision import (
    ChildExited,
    ChildSpec,
    ChildStarted,
    ParkPolicy,
    Pool,
    PoolSpec,
    Refuse,
    Supervisor,
    SupervisorSpec,
    hanging,
    running,
)
from tests.supervision.children import Listener, Remote, Stubborn, fake_time, forever, never_ready


async def deep(released):
    await deeper(released)


async def deeper(released):
    while not released.is_set():
        with suppress(asyncio.CancelledError):
            await released.wait()


def by_path(root):
    return {found.path: (found.child.incarnation, found.state) for found in hanging(root)}


@fake_time
async def test_a_child_that_does_not_end_shows_where_it_waits_until_then_and_afterwards(clock):
    released = asyncio.Event()

    async def swallows(ctx):
        ctx.ready()
        await deep(released)

    inner = SupervisorSpec(children=(ChildSpec("a", swallows, shutdown_s=5), ChildSpec("b", forever)))
    root = Supervisor(SupervisorSpec(children=(ChildSpec("inner", inner),)), clock=clock)
    await root.start()
    assert by_path(root) == {}
    stop = asyncio.ensure_future(root.stop())
    await clock.idle()
    assert by_path(root) == {"root/inner/a": (1, "stopping")}
    await stop
    assert by_path(root) == {"root/inner/a": (1, "abandoned")}
    (found,) = hanging(root)
    places = [line.partition(" ")[0].rpartition(".")[2] for line in found.stack.splitlines()]
    assert places[-4:] == ["swallows", "deep", "deeper", "wait"]
    line = deeper.__code__.co_firstlineno + 3
    assert f"deeper ({__file__}, line {line})" in found.stack
    released.set()


@fake_time
async def test_a_child_that_is_not_ready_shows_where_it_waits(clock):
    root = Supervisor(SupervisorSpec(children=(ChildSpec("a", never_ready),)), clock=clock)
    start = asyncio.ensure_future(root.start())
    await clock.idle()
    assert by_path(root) == {"root/a": (1, "starting")}
    assert "never_ready" in next(hanging(root)).stack
    start.cancel()
    await clock.idle()
    assert by_path(root) == {}


@fake_time
async def test_an_abandoned_child_that_ends_after_all_hangs_no_more(clock):
    stubborn = Stubborn()
    async with running(Pool(PoolSpec(), clock=clock)) as pool:
        await pool.start_child(ChildSpec("a", stubborn, shutdown_s=1))
        await pool.terminate_child("a")
        assert by_path(pool) == {"root/a": (1, "abandoned")}
        stubborn.release()
        await clock.idle()
        assert by_path(pool) == {}


@pytest.mark.parametrize("kind", [Pool, Supervisor])
@fake_time
async def test_a_report_says_when_and_a_restart_how_long_the_child_was_down(clock, kind):
    listener, remote = Listener(), Remote()
    park = ParkPolicy(max_restarts=0, backoff_s=4)
    spec = PoolSpec(park=park) if kind is Pool else SupervisorSpec(park=park)
    before = clock.time()
    async with running(kind(spec, clock=clock, on_report=listener)) as root:
        await root.start_child(ChildSpec("a", remote))
        await clock.sleep(7)
        remote.starts = {"a": [Refuse("no disk")]}
        remote.crash("a")
        await clock.sleep(20)  # 4 s in the park, a try that is refused, 8 s more
    started = [(report.at_s - before, report.down_s) for report in listener.of(ChildStarted)]
    assert started == [(0, None), (19, 12)]
    assert [report.at_s - before for report in listener.of(ChildExited)] == [7, 27]
    assert all(before <= report.at_s <= clock.time() for report in listener.reports)


@fake_time
async def test_a_child_that_is_restarted_with_another_was_down_since_it_was_stopped(clock):
    listener, remote, stubborn = Listener(), Remote(), Stubborn()
    children = (ChildSpec("a", remote), ChildSpec("b", stubborn, shutdown_s=3), ChildSpec("c", remote))
    spec = SupervisorSpec(children=children, strategy="rest_for_one")
    async with running(Supervisor(spec, clock=clock, on_report=listener)):
        remote.crash("a")
        await clock.sleep(4)
        assert [(report.child.id, report.down_s) for report in listener.of(ChildStarted)[3:]] == [
            ("a", 3),
            ("b", 0),
            ("c", 3),
        ]
        stubborn.release()
