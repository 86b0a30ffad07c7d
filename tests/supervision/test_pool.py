"""What the pool adds to what was observed of Elixir's: ids to stop by, and a park for crash loops."""

import asyncio

import pytest

from selfplay.supervision import (
    ChildParked,
    ChildRef,
    ChildSpec,
    ChildStarted,
    NotFoundError,
    ParkPolicy,
    Pool,
    PoolSpec,
    Refuse,
    SupervisorGaveUp,
    running,
)
from tests.supervision.children import Listener, Remote, Stubborn, crashing, fake_time, forever


def pool_with(clock, listener=None, **limits):
    return Pool(PoolSpec(**limits), clock=clock, on_report=listener)


def states(pool):
    return {row.id: row.state for row in pool.which_children()}


@fake_time
async def test_terminate_by_reference_and_by_id(clock):
    async with running(pool_with(clock)) as pool:
        refs = [await pool.start_child(ChildSpec(id, forever)) for id in "aabc"]
        await pool.terminate_child(refs[1])
        assert [row.ref for row in pool.which_children()] == [refs[0], refs[2], refs[3]]
        with pytest.raises(NotFoundError):
            await pool.terminate_child(refs[1])
        await pool.start_child(ChildSpec("a", forever))
        await pool.terminate_child("a")  # both
        assert states(pool) == {"b": "running", "c": "running"}


@fake_time
async def test_a_reference_names_one_incarnation_only(clock):
    remote = Remote()
    async with running(pool_with(clock)) as pool:
        old = await pool.start_child(ChildSpec("a", remote))
        remote.crash("a")
        await clock.idle()
        with pytest.raises(NotFoundError):
            await pool.terminate_child(old)
        assert [row.ref for row in pool.which_children()] == [ChildRef("a", 2)]


@pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
@pytest.mark.parametrize("how", ["normal", "crash"])
@fake_time
async def test_restart_types(clock, restart, how):
    remote = Remote()
    async with running(pool_with(clock)) as pool:
        await pool.start_child(ChildSpec("a", remote, restart=restart))
        remote.end("a", RuntimeError() if how == "crash" else None)
        await clock.idle()
        restarted = restart == "permanent" or (restart == "transient" and how == "crash")
        assert states(pool) == ({"a": "running"} if restarted else {})


@fake_time
async def test_graces_of_a_parallel_stop_do_not_add_up(clock):
    stubborn, released = Stubborn(), []
    pool = pool_with(clock)
    await pool.start()
    for number, shutdown_s in enumerate([3, 1, 2, "brutal_kill"]):
        await pool.start_child(ChildSpec(f"s{number}", stubborn, shutdown_s=shutdown_s))
    await pool.start_child(ChildSpec("last", forever))
    before = clock.time()
    await pool.stop()
    assert clock.time() - before == 3
    assert pool.abandoned_total == 4
    stubborn.release()
    assert released == []


@fake_time
async def test_a_killed_pool_leaves_no_task_behind(clock):
    stubborn = Stubborn()
    pool = pool_with(clock)
    await pool.start()
    await pool.start_child(ChildSpec("a", stubborn, shutdown_s=float("inf")))
    stop = asyncio.ensure_future(pool.stop())
    await clock.idle()
    pool.kill()
    assert (await stop).kind == "killed"
    await clock.settle()
    assert [ref.id for ref in pool.abandoned] == ["a"]
    assert len(asyncio.all_tasks()) == 2  # the stubborn one and this test
    stubborn.release()


# ---- the park


PARK = ParkPolicy(max_restarts=2, period_s=10, backoff_s=1, max_backoff_s=4)


@fake_time
async def test_a_crash_loop_is_parked_longer_each_time_and_spends_no_budget_while_it_is(clock):
    listener = Listener()
    async with running(pool_with(clock, listener, intensity=2, period_s=1000, park=PARK)) as pool:
        await pool.start_child(ChildSpec("loop", crashing(lambda: OSError("bad image"))))
        await pool.start_child(ChildSpec("good", forever))
        before = clock.time()
        while len(listener.of(ChildParked)) < 6:
            await clock.sleep(0.5)
        parked = listener.of(ChildParked)
        assert [report.delay_s for report in parked] == [1, 2, 4, 4, 4, 4]
        assert [report.times for report in parked] == [1, 2, 3, 4, 5, 6]
        assert {str(report.cause) for report in parked} == {"root/loop (incarnation 1): error: OSError: bad image"}
        # 2 restarts before the first time in the park, then one try a time: it never spins
        assert len([report for report in listener.of(ChildStarted) if report.child.id == "loop"]) == 3 + 5
        assert clock.time() - before == pytest.approx(15, abs=0.5)
        assert states(pool) == {"good": "running", "loop": "parked"}


@fake_time
async def test_a_parked_child_that_recovers_is_forgiven(clock):
    listener, remote = Listener(), Remote()
    async with running(pool_with(clock, listener, intensity=9, park=PARK)) as pool:
        await pool.start_child(ChildSpec("a", remote))
        for _ in range(3):
            remote.crash("a")
            await clock.idle()
        assert states(pool) == {"a": "parked"}
        await clock.sleep(1)
        assert states(pool) == {"a": "running"}
        await clock.sleep(PARK.period_s)  # long enough to be forgiven
        for _ in range(3):
            remote.end("a", ValueError("anew"))
            await clock.idle()
        first, second = listener.of(ChildParked)
        assert (second.delay_s, second.times) == (first.delay_s, 1)
        assert "anew" in second.cause.message


@fake_time
async def test_a_child_that_does_its_work_before_it_crashes_is_never_parked_and_ends_no_pool(clock):
    listener = Listener()
    works = True

    async def worker(ctx):
        ctx.ready()
        if works:
            ctx.prove()
        await clock.sleep(0.1)
        raise OSError("crashed")

    async with running(pool_with(clock, listener, intensity=2, period_s=1000, park=PARK)) as pool:
        await pool.start_child(ChildSpec("a", worker))
        while len(listener.of(ChildStarted)) < 20:
            await clock.sleep(0.1)
        assert listener.of(ChildParked) == []
        works = False
        while not listener.of(ChildParked):
            await clock.sleep(0.1)
    # those that fail without having worked count from the last one that had: it and two more are restarted
    assert 20 + PARK.max_restarts <= len(listener.of(ChildStarted)) <= 22 + PARK.max_restarts


@fake_time
async def test_a_parked_child_that_crashes_too_soon_is_not_forgiven(clock):
    listener, remote = Listener(), Remote()
    async with running(pool_with(clock, listener, intensity=9, park=PARK)) as pool:
        await pool.start_child(ChildSpec("a", remote))
        for _ in range(3):
            remote.crash("a")
            await clock.idle()
        await clock.sleep(1 + PARK.period_s - 0.1)
        for _ in range(3):
            remote.crash("a")
            await clock.idle()
        assert [report.times for report in listener.of(ChildParked)] == [1, 2]


@fake_time
async def test_failing_to_restart_parks_too(clock):
    listener, remote = Listener(), Remote()
    async with running(pool_with(clock, listener, intensity=2, park=PARK)) as pool:
        await pool.start_child(ChildSpec("a", remote))
        remote.starts = {"a": [Refuse("no disk")] * 3}
        remote.crash("a")
        await clock.idle()
        assert states(pool) == {"a": "parked"}
        assert listener.of(ChildParked)[0].cause.message == "error: RuntimeError: boom"
        await clock.sleep(1)  # its third refusal
        assert states(pool) == {"a": "parked"}
        await clock.sleep(2)
        assert states(pool) == {"a": "running"}


@fake_time
async def test_a_child_that_never_comes_up_again_is_never_forgiven(clock):
    listener, remote = Listener(), Remote()
    async with running(pool_with(clock, listener, intensity=2, park=PARK)) as pool:
        await pool.start_child(ChildSpec("a", remote))
        remote.starts = {"a": [Refuse("no disk")] * 50}
        remote.crash("a")
        await clock.sleep(5 * PARK.period_s)
        parked = listener.of(ChildParked)
        assert [report.times for report in parked] == list(range(1, len(parked) + 1))
        assert {report.cause.message for report in parked} == {"error: RuntimeError: boom"}


@fake_time
async def test_a_parked_child_can_be_terminated(clock):
    remote = Remote()
    async with running(pool_with(clock, park=ParkPolicy(max_restarts=0))) as pool:
        await pool.start_child(ChildSpec("a", remote))
        remote.crash("a")
        await clock.idle()
        assert states(pool) == {"a": "parked"}
        counts = pool.count_children()
        assert (counts.specs, counts.active) == (1, 0)
        await pool.terminate_child("a")
        assert states(pool) == {}
        await clock.settle()
        assert remote.log == ["start a", "end a"]


@fake_time
async def test_stopping_does_not_wait_for_the_park(clock):
    remote = Remote()
    pool = pool_with(clock, park=ParkPolicy(max_restarts=0, backoff_s=60))
    await pool.start()
    await pool.start_child(ChildSpec("a", remote))
    remote.crash("a")
    await clock.idle()
    before = clock.time()
    await pool.stop()
    await clock.settle()
    assert clock.time() == before


@fake_time
async def test_too_many_parked_children_end_the_pool_with_the_first_cause(clock):
    listener, remote = Listener(), Remote()
    pool = pool_with(clock, listener, park=ParkPolicy(max_restarts=0, max_parked=1))
    await pool.start()
    for id in "abc":
        await pool.start_child(ChildSpec(id, remote))
    remote.end("b", OSError("driver lost"))
    await clock.idle()
    assert pool.alive
    remote.end("c", OSError("driver lost"))
    reason = await pool.wait()
    assert reason.clean
    assert "1 children parked" in reason.message
    assert listener.of(SupervisorGaveUp)[0].cause.child.id == "c"
    assert remote.log[-1] == "stop a"


@fake_time
async def test_without_a_park_a_crash_loop_ends_the_pool(clock):
    pool = pool_with(clock, intensity=3)
    await pool.start()
    await pool.start_child(ChildSpec("a", crashing()))
    assert (await pool.wait()).cause.child == ChildRef("a", 1)
