"""The recorded observations of Elixir's DynamicSupervisor."""

import pytest

from selfplay.supervision import (
    ChildCounts,
    ChildRef,
    ChildSpec,
    Ignore,
    NotFoundError,
    Pool,
    PoolSpec,
    Refuse,
    StartError,
)
from tests.supervision.children import Remote, Stubborn, fake_time


async def started(clock, **limits):
    pool = Pool(PoolSpec(**limits), clock=clock)
    await pool.start()
    return pool


@fake_time
async def test_same_id_twice_is_fine_because_ids_are_not_keys(clock):
    pool, remote = await started(clock), Remote()
    assert await pool.start_child(ChildSpec("a", remote)) == ChildRef("a", 1)
    assert await pool.start_child(ChildSpec("a", remote)) == ChildRef("a", 2)
    assert pool.count_children() == ChildCounts(specs=2, active=2, supervisors=0, workers=2)
    await pool.stop()
    assert remote.log == ["start a", "start a", "stop a", "stop a"]


@fake_time
async def test_a_refused_start_leaves_nothing(clock):
    pool, remote = await started(clock), Remote()
    remote.starts = {"a": [Refuse("refused")], "b": [Ignore()]}
    with pytest.raises(StartError) as caught:
        await pool.start_child(ChildSpec("a", remote))
    assert caught.value.reason.detail == "refused"
    assert await pool.start_child(ChildSpec("b", remote)) is None
    assert pool.count_children() == ChildCounts(0, 0, 0, 0)
    assert pool.alive
    await pool.stop()


@fake_time
async def test_a_restart_that_ignores_drops_the_child(clock):
    pool, remote = await started(clock), Remote()
    await pool.start_child(ChildSpec("a", remote))
    remote.starts = {"a": [Ignore()]}
    remote.crash("a")
    await clock.idle()
    assert pool.count_children() == ChildCounts(0, 0, 0, 0)
    assert pool.alive
    assert remote.log == ["start a", "end a", "no start a"]
    await pool.stop()


@fake_time
async def test_a_restart_that_fails_is_tried_again_and_counts(clock):
    pool, remote = await started(clock, intensity=3, period_s=5), Remote()
    await pool.start_child(ChildSpec("a", remote))
    remote.starts = {"a": [Refuse(), RuntimeError()]}
    remote.crash("a")
    await clock.idle()
    assert pool.count_children() == ChildCounts(1, 1, 0, 1)
    assert remote.log == ["start a", "end a", "no start a", "no start a", "start a"]
    remote.crash("a")  # the fourth restart in the window
    assert (await pool.wait()).cause is not None


@fake_time
async def test_the_budget_is_shared_by_all_children(clock):
    pool, remote = await started(clock, intensity=3, period_s=5), Remote()
    for number in range(1, 7):
        await pool.start_child(ChildSpec(f"c{number}", remote))
    remote.log.clear()
    for number in range(1, 5):
        remote.crash(f"c{number}")
        await clock.idle()
    assert not pool.alive
    assert remote.log == [
        *("end c1", "start c1", "end c2", "start c2", "end c3", "start c3", "end c4"),
        *("stop c5", "stop c6", "stop c1", "stop c2", "stop c3"),
    ]


@fake_time
async def test_temporary_crashes_are_free(clock):
    pool, remote = await started(clock, intensity=0), Remote()
    for number in range(1, 21):
        await pool.start_child(ChildSpec(f"t{number}", remote, restart="temporary"))
        remote.crash(f"t{number}")
        await clock.idle()
    assert pool.count_children() == ChildCounts(0, 0, 0, 0)
    assert pool.alive
    await pool.stop()


@fake_time
async def test_children_are_stopped_in_parallel(clock):
    pool, stubborn = await started(clock), Stubborn()
    for number in range(1, 6):
        await pool.start_child(ChildSpec(f"s{number}", stubborn, shutdown_s=0.3))
    before = clock.time()
    await pool.stop()
    assert clock.time() - before == pytest.approx(0.3)
    assert stubborn.log[:10] == [f"{what} s{number}" for what in ("start", "shutdown") for number in range(1, 6)]
    assert pool.abandoned_total == 5
    stubborn.release()


@fake_time
async def test_terminating_an_unknown_child(clock):
    pool = await started(clock)
    with pytest.raises(NotFoundError):
        await pool.terminate_child(ChildRef("a", 1))
    with pytest.raises(NotFoundError):
        await pool.terminate_child("a")
    assert pool.alive
    await pool.stop()
