"""Many children that crash at once: what that may not cost."""

import asyncio
import gc
import traceback
import weakref

from selfplay.supervision import ChildExited, ChildParked, ChildSpec, ParkPolicy, Pool, PoolSpec, running
from tests.supervision.children import Listener, Remote, fake_time, forever

MANY = 50
PARKED = ParkPolicy(max_restarts=0, backoff_s=60, max_parked=MANY)


async def storm(pool, clock):
    """Starts children that all crash in one turn of the loop; returns after it."""
    now = asyncio.Event()

    async def child(ctx):
        ctx.ready()
        await now.wait()
        raise ValueError(f"no disc for {ctx.id}")

    for number in range(MANY):
        await pool.start_child(ChildSpec(f"r{number}", child))
    await clock.idle()
    now.set()


class Unread(dict):
    """A dictionary that counts how often all of it is gone through."""

    scans = 0

    def __iter__(self):
        self.scans += 1
        return super().__iter__()


@fake_time
async def test_text_of_an_error_is_made_when_it_is_read_and_not_before(clock):
    made, original = [], traceback.TracebackException.format

    def counted(self, **options):
        made.append(self)
        return original(self, **options)

    traceback.TracebackException.format = counted
    try:
        listener = Listener()
        async with running(Pool(PoolSpec(park=PARKED), clock=clock, on_report=listener)) as pool:
            await storm(pool, clock)
            await clock.idle()
        assert len(listener.of(ChildExited)) == MANY
        assert made == []
        text = listener.of(ChildParked)[7].cause.traceback
        assert len(made) == 1
    finally:
        traceback.TracebackException.format = original
    assert 'raise ValueError(f"no disc for {ctx.id}")' in text
    assert text.endswith("ValueError: no disc for r7\n")


@fake_time
async def test_an_error_that_was_not_read_keeps_nothing_alive(clock):
    class Large:
        pass

    kept = []

    async def child(ctx):
        ctx.ready()
        large = Large()
        kept.append(weakref.ref(large))
        raise ValueError("no disc") from KeyError("stage")

    listener = Listener()
    async with running(Pool(PoolSpec(), clock=clock, on_report=listener)) as pool:
        await pool.start_child(ChildSpec("a", child, restart="temporary"))
        await clock.idle()
        gc.collect()
        assert kept[0]() is None
        assert "stage" in listener.of(ChildExited)[0].reason.traceback


@fake_time
async def test_other_tasks_have_their_turns_between_the_children_of_a_storm(clock):
    listener = Listener()
    async with running(Pool(PoolSpec(park=PARKED), clock=clock, on_report=listener)) as pool:
        await storm(pool, clock)
        turns = 0
        while len(listener.of(ChildParked)) < MANY:
            await asyncio.sleep(0)
            turns += 1
        assert turns >= MANY


@fake_time
async def test_a_child_is_parked_and_terminated_without_a_look_at_all_others(clock):
    remote = Remote()
    async with running(Pool(PoolSpec(park=PARKED), clock=clock)) as pool:
        ref = await pool.start_child(ChildSpec("a", remote))
        for number in range(MANY):
            await pool.start_child(ChildSpec(f"b{number % 25}", forever))
        await pool.start_child(ChildSpec("c", remote))
        pool._slots = members = Unread(pool._slots)
        remote.crash("c")
        await clock.idle()
        await pool.terminate_child(ref)
        await pool.terminate_child("b3")
        await pool.terminate_child("c")
        assert members.scans == 0
        assert len(pool.which_children()) == MANY - 2
        assert members.scans == 1
