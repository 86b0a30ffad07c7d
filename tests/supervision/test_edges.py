"""Corners where asyncio makes supervision hard, and races that a supervisor must not lose."""

import asyncio
import gc
import time

import pytest

from selfplay.supervision import (
    KILL_GRACE_S,
    SHUTDOWN,
    ChildAbandoned,
    ChildExited,
    ChildSpec,
    ChildStarted,
    ChildStartFailed,
    NotRunningError,
    Pool,
    PoolSpec,
    Refuse,
    RestartingError,
    Shutdown,
    StartError,
    Supervisor,
    SupervisorGaveUp,
    SupervisorSpec,
    running,
    sleep,
)
from selfplay.supervision.child import Child
from selfplay.supervision.park import RestartIntensity
from tests.supervision.children import Listener, Remote, Stubborn, crashing, fake_time, forever, never_ready, until


def supervisor(clock, *children, listener=None, **flags):
    return Supervisor(SupervisorSpec(children=children, **flags), clock=clock, on_report=listener)


def named(name):
    return [task for task in asyncio.all_tasks() if task.get_name() == name]


def states(node):
    return {row.id: row.state for row in node.which_children()}


# ---- stopping against starting and restarting


@fake_time
async def test_a_stop_request_ends_a_start_that_hangs(clock):
    root = supervisor(clock, ChildSpec("a", forever), ChildSpec("b", never_ready), ChildSpec("c", forever))
    start = asyncio.ensure_future(root.start())
    await clock.idle()
    assert not start.done()
    assert (await root.stop()).kind == "shutdown"
    with pytest.raises(StartError):
        await start


@fake_time
async def test_a_stop_request_ends_a_nested_start_that_hangs(clock):
    inner = SupervisorSpec(children=(ChildSpec("x", forever), ChildSpec("y", never_ready)))
    root = supervisor(clock, ChildSpec("inner", inner))
    start = asyncio.ensure_future(root.start())
    await clock.idle()
    await root.stop()
    with pytest.raises(StartError):
        await start


@fake_time
async def test_a_cancelled_start_leaves_nothing(clock):
    root = supervisor(clock, ChildSpec("a", forever), ChildSpec("b", never_ready))
    start = asyncio.ensure_future(root.start())
    await clock.idle()
    start.cancel()
    await clock.idle()
    assert start.cancelled()
    assert (await root.wait()).kind == "shutdown"


class Tidy:
    """A child whose clean-up takes three seconds; `log` has its phases."""

    def __init__(self):
        self.log = []

    async def __call__(self, ctx):
        ctx.ready()
        self.log.append("ready")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.log.append("cleans up")
            await sleep(ctx.clock, 3)
            self.log.append("done")


async def cancelled_twice(task, tidy):
    """Cancels while the child works, and again while it cleans up; what the child had done when the task ended."""
    await until(lambda: tidy.log == ["ready"])
    task.cancel()
    await until(lambda: tidy.log == ["ready", "cleans up"])
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    return tidy.log


@fake_time
async def test_a_cancelled_start_returns_when_the_children_have_cleaned_up(clock):
    tidy = Tidy()
    root = supervisor(clock, ChildSpec("a", tidy), ChildSpec("b", never_ready))
    start = asyncio.ensure_future(root.start())
    assert await cancelled_twice(start, tidy) == ["ready", "cleans up", "done"]
    assert root.abandoned == ()


@fake_time
async def test_a_start_that_is_killed_fails_when_the_children_have_ended_or_were_abandoned(clock):
    stubborn = Stubborn()
    root = supervisor(clock, ChildSpec("a", stubborn), ChildSpec("b", never_ready))
    start = asyncio.ensure_future(root.start())
    await until(lambda: stubborn.log == ["start a"])
    root.kill()
    with pytest.raises(StartError, match="killed"):
        await start
    assert [ref.id for ref in root.abandoned] == ["a"]
    stubborn.release()


@fake_time
async def test_running_that_is_cancelled_twice_ends_when_the_children_have_cleaned_up(clock):
    tidy = Tidy()

    async def main():
        async with running(supervisor(clock, ChildSpec("a", tidy))):
            await asyncio.get_running_loop().create_future()

    assert await cancelled_twice(asyncio.ensure_future(main()), tidy) == ["ready", "cleans up", "done"]


@pytest.mark.parametrize("kill", [False, True])
@fake_time
async def test_running_waits_for_children_whose_supervisor_was_killed(clock, kill):
    stubborn = Stubborn()
    inner = SupervisorSpec(children=(ChildSpec("a", stubborn),))
    async with running(supervisor(clock, ChildSpec("inner", inner, shutdown_s=2))) as root:
        if kill:
            root.kill()
    assert [ref.id for ref in root.abandoned] == ["a"]  # given up by now
    stubborn.release()


@fake_time
async def test_start_timeout(clock):
    listener = Listener()
    root = supervisor(clock, ChildSpec("a", forever), ChildSpec("b", never_ready, start_timeout_s=3), listener=listener)
    before = clock.time()
    with pytest.raises(StartError, match="not ready within 3 s"):
        await root.start()
    assert clock.time() - before == 3
    assert [report.child.id for report in listener.of(ChildStartFailed)] == ["b"]


@fake_time
async def test_a_start_that_times_out_and_swallows_its_cancellation_is_abandoned(clock):
    released = asyncio.Event()

    async def hangs(ctx):
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", hangs, start_timeout_s=3, shutdown_s=2), listener=listener)
    with pytest.raises(StartError):
        await root.start()
    assert [report.total for report in listener.of(ChildAbandoned)] == [1]
    released.set()


def told(listener):
    """Names of the reports about children, in order."""
    return [type(report).__name__ for report in listener.reports if hasattr(report, "child")]


@fake_time
async def test_a_child_that_ends_in_the_tick_of_its_ready_is_reported_started_before_it_is_reported_ended(clock):
    async def brief(ctx):
        ctx.ready()

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", brief, restart="temporary"), listener=listener)
    await root.start()
    await clock.idle()
    await root.stop()
    assert told(listener) == ["ChildStarted", "ChildExited"]


@fake_time
async def test_a_child_whose_tree_is_killed_in_the_tick_of_its_ready_is_reported_started(clock):
    async def kills_its_tree(ctx):
        ctx.ready()
        root.kill()

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", kills_its_tree), listener=listener)
    with pytest.raises(StartError, match="killed"):
        await root.start()
    await clock.settle()
    assert told(listener) == ["ChildStarted", "ChildExited"]


@fake_time
async def test_a_child_that_is_ready_after_its_start_was_given_up_has_not_started(clock):
    async def late(ctx):
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ctx.ready()

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", late, start_timeout_s=3), listener=listener)
    with pytest.raises(StartError, match="not ready within 3 s"):
        await root.start()
    assert told(listener) == ["ChildStartFailed"]


@pytest.mark.parametrize("given_up", [lambda clock, root: clock.advance(3), lambda clock, root: root.finish(SHUTDOWN)])
@fake_time
async def test_a_child_that_is_ready_in_the_tick_in_which_its_start_is_given_up_has_started(clock, given_up):
    async def just_in_time(ctx):
        await asyncio.sleep(0)
        given_up(clock, root)
        ctx.ready()
        await asyncio.get_running_loop().create_future()

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", just_in_time, start_timeout_s=3), listener=listener)
    starting = asyncio.ensure_future(root.start())
    await clock.settle()
    await root.stop()
    await asyncio.wait({starting})
    starting.exception()
    assert told(listener) == ["ChildStarted", "ChildExited"]


@fake_time
async def test_a_child_that_ends_while_the_tree_stops_is_not_restarted(clock):
    listener, remote, stubborn = Listener(), Remote(), Stubborn()
    children = ChildSpec("a", remote), ChildSpec("b", stubborn, shutdown_s=1)
    root = supervisor(clock, *children, listener=listener)
    await root.start()
    stop = asyncio.ensure_future(root.stop())
    await clock.idle()  # b holds out, a has not been asked yet
    remote.crash("a")
    await stop
    assert remote.log == ["start a", "end a"]
    assert [(report.child.id, report.asked) for report in listener.of(ChildExited)] == [("a", False)]
    stubborn.release()


@fake_time
async def test_a_stop_request_during_a_group_restart_starts_nobody_any_more(clock):
    remote, stubborn = Remote(), Stubborn()
    children = [ChildSpec("a", remote), ChildSpec("b", remote), ChildSpec("c", stubborn, shutdown_s=5)]
    root = supervisor(clock, *children, strategy="one_for_all")
    await root.start()
    remote.crash("a")
    await clock.idle()  # waits for c
    assert (await root.stop()).kind == "shutdown"
    assert remote.log == ["start a", "start b", "end a", "stop b"]
    stubborn.release()


@fake_time
async def test_a_stop_request_overtakes_a_call_that_has_not_begun(clock):
    root = supervisor(clock)
    await root.start()
    await clock.idle()
    adding = asyncio.ensure_future(root.start_child(ChildSpec("a", forever)))
    stopping = asyncio.ensure_future(root.stop())
    await asyncio.wait({adding, stopping})
    with pytest.raises(NotRunningError):
        await adding


@fake_time
async def test_a_bug_in_a_supervisor_ends_it_and_its_children(clock, monkeypatch):
    def broken(self, now, cause):
        raise ZeroDivisionError

    monkeypatch.setattr(RestartIntensity, "add", broken)
    remote = Remote()
    root = supervisor(clock, ChildSpec("a", remote), ChildSpec("b", remote))
    await root.start()
    remote.crash("a")
    reason = await root.wait()
    assert (reason.kind, "ZeroDivisionError" in reason.traceback) == ("error", True)
    await clock.idle()
    assert remote.log == ["start a", "start b", "end a", "stop b"]


@fake_time
async def test_a_stop_request_is_not_starved_by_a_crash_loop_in_start(clock):
    async def refuses_again(ctx):
        if ctx.incarnation > 1:
            raise Refuse
        ctx.ready()

    root = supervisor(clock, ChildSpec("a", refuses_again), intensity=10**9)
    await root.start()
    await until(lambda: states(root) == {"a": "restarting"})
    assert (await root.stop()).kind == "shutdown"


@fake_time
async def test_a_restarting_child_can_be_terminated(clock):
    async def refuses_again(ctx):
        if 1 < ctx.incarnation < 10**3:
            raise Refuse
        ctx.ready()

    root = supervisor(clock, ChildSpec("a", refuses_again), intensity=10**9)
    await root.start()
    await until(lambda: states(root) == {"a": "restarting"})
    await root.terminate_child("a")
    assert states(root) == {"a": "stopped"}
    await clock.idle()
    assert states(root) == {"a": "stopped"}  # the try that waited in the mailbox is void
    await root.stop()


@fake_time
async def test_a_group_restart_that_fails_half_way_leaves_the_rest_stopped_not_restarting(clock):
    remote = Remote()
    root = supervisor(clock, *(ChildSpec(id, remote) for id in "abc"), strategy="rest_for_one", intensity=10**9)
    await root.start()
    remote.starts = {"b": [Refuse() for _ in range(100)]}
    remote.crash("b")
    await until(lambda: "no start b" in remote.log)
    assert (await root.restart_child("c")).incarnation == 2  # in between two tries
    with pytest.raises(RestartingError):
        await root.restart_child("b")
    await root.stop()


@fake_time
async def test_a_significant_child_that_restarts_is_still_there(clock):
    remote = Remote()
    children = [ChildSpec(id, remote, restart="transient", significant=True) for id in "ab"]
    root = supervisor(clock, *children, auto_shutdown="all_significant", intensity=10**9)
    await root.start()
    remote.starts = {"a": [Refuse() for _ in range(100)]}
    remote.crash("a")
    await until(lambda: "no start a" in remote.log)
    remote.end("b")  # the last one that runs, but not the last one
    await clock.idle()
    assert states(root) == {"a": "running", "b": "stopped"}
    remote.end("a")
    assert (await root.wait()).clean


@fake_time
async def test_a_crash_loop_faster_than_the_loop_ends_by_the_budget_alone(clock):
    listener = Listener()
    root = supervisor(clock, ChildSpec("a", crashing()), intensity=50, listener=listener)
    await root.start()
    reason = await root.wait()
    assert reason.kind == "shutdown"
    assert len(listener.of(ChildStarted)) == 51
    assert [report.cause.child.incarnation for report in listener.of(SupervisorGaveUp)] == [1]


# ---- late and simultaneous news


@fake_time
async def test_two_children_crash_in_the_same_tick(clock):
    remote = Remote()
    root = supervisor(clock, *(ChildSpec(id, remote) for id in "abc"), strategy="one_for_all", intensity=1)
    await root.start()
    remote.log.clear()
    remote.crash("a")
    remote.crash("c")
    await clock.idle()
    assert remote.log == ["end a", "end c", "stop b", "start a", "start b", "start c"]  # one restart for both
    assert root.alive
    await root.stop()


@fake_time
async def test_news_of_an_earlier_incarnation_is_ignored(clock):
    remote = Remote()
    root = supervisor(clock, ChildSpec("a", remote), intensity=0)
    await root.start()
    remote.crash("a")
    terminated = asyncio.ensure_future(root.terminate_child("a"))  # in the mailbox before the crash is
    restarted = asyncio.ensure_future(root.restart_child("a"))
    await asyncio.wait({terminated, restarted})
    assert restarted.result().incarnation == 2
    await clock.idle()
    assert states(root) == {"a": "running"}
    await root.stop()


@fake_time
async def test_a_child_that_ends_between_request_and_wait(clock):
    async def brief(ctx):
        ctx.ready()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise Shutdown

    root = supervisor(clock, ChildSpec("a", brief, shutdown_s=100))
    await root.start()
    before = clock.time()
    await root.stop()
    assert clock.time() == before


# ---- cancellation


@fake_time
async def test_a_child_that_ignores_cancellation_is_abandoned_counted_and_reported(clock):
    listener, stubborn = Listener(), Stubborn()
    child = ChildSpec("a", stubborn, shutdown_s=2, restart="transient")
    root = supervisor(clock, child, ChildSpec("b", forever), listener=listener)
    await root.start()
    before = clock.time()
    await root.terminate_child("a")
    assert clock.time() - before == 2
    assert stubborn.log == ["start a", "shutdown a", "killed a"]  # asked once, and once more when time was up
    assert [(report.alive, report.total) for report in listener.of(ChildAbandoned)] == [(1, 1)]
    assert [ref.id for ref in root.abandoned] == ["a"]
    await root.restart_child("a")  # its place is free, the old incarnation notwithstanding
    stubborn.release()
    await clock.idle()
    assert root.abandoned == ()
    assert root.abandoned_total == 1
    assert [report.abandoned for report in listener.of(ChildExited) if report.child.incarnation == 1] == [True]
    await root.stop()


@fake_time
async def test_a_missed_deadline_uses_the_kill_that_the_child_offers(clock):
    killed = []
    released = asyncio.Event()

    async def stubborn(ctx):
        ctx.on_kill(lambda: (killed.append(ctx.incarnation), released.set()))
        ctx.ready()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    listener = Listener()
    root = supervisor(
        clock, ChildSpec("a", stubborn, shutdown_s=2, kill=lambda: killed.append("spec")), listener=listener
    )
    await root.start()
    before = clock.time()
    await root.stop()
    assert clock.time() - before == 2
    assert killed == [1, "spec"]
    assert listener.of(ChildAbandoned) == []


@pytest.mark.parametrize("shutdown_s", ["brutal_kill", 0])
@fake_time
async def test_brutal_kill_does_not_ask_but_is_bounded(clock, shutdown_s):
    stubborn, killed = Stubborn(), []
    child = ChildSpec("a", stubborn, shutdown_s=shutdown_s, kill=lambda: killed.append(1))
    root = supervisor(clock, child)
    await root.start()
    await root.stop()
    assert killed == [1]
    assert stubborn.log == ["start a", "killed a"]
    assert root.abandoned_total == 1
    stubborn.release()


@fake_time
async def test_a_brutal_kill_is_reported_as_asked_for(clock):
    listener = Listener()
    root = supervisor(clock, ChildSpec("a", forever, shutdown_s="brutal_kill"), listener=listener)
    await root.start()
    await root.terminate_child("a")
    assert [(report.asked, report.reason.kind) for report in listener.of(ChildExited)] == [(True, "killed")]
    await root.stop()


@pytest.mark.parametrize("depth", [0, 1, 2])
@fake_time
async def test_orphans_that_live_on_are_killed_or_given_up(clock, depth):
    listener, hopeless, killable = Listener(), Stubborn(), Stubborn()
    spec = SupervisorSpec(
        children=(
            ChildSpec("hopeless", hopeless, shutdown_s=1000),
            ChildSpec("killable", killable, shutdown_s=1000, kill=killable.release),
        )
    )
    for _ in range(depth):
        spec = SupervisorSpec(children=(ChildSpec("inner", spec),))
    root = Supervisor(spec, clock=clock, on_report=listener)
    await root.start()
    before = clock.time()
    root.kill()
    assert (await root.wait()).kind == "killed"
    assert clock.time() == before
    await clock.settle()
    assert [report.child.id for report in listener.of(ChildAbandoned)] == ["hopeless"]
    assert [report.child.id for report in listener.of(ChildExited) if report.child.id != "inner"] == ["killable"]
    assert clock.time() - before <= (depth + 1) * KILL_GRACE_S  # not the thousand seconds that it was granted
    hopeless.release()


ERRORS = [OSError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, BaseException]


@pytest.mark.parametrize("error", ERRORS)
@fake_time
async def test_a_failing_kill_hook_does_not_stop_the_stop(clock, error):
    def broken():
        raise error("no such process")

    root = supervisor(clock, ChildSpec("a", forever, shutdown_s="brutal_kill", kill=broken))
    await root.start()
    assert (await root.stop()).kind == "shutdown"


@fake_time
async def test_a_child_that_cancels_itself_has_crashed(clock):
    async def cancels_itself(ctx):
        ctx.ready()
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    listener = Listener()
    root = supervisor(clock, ChildSpec("a", cancels_itself, restart="transient"), listener=listener, intensity=2)
    await root.start()
    await root.wait()
    assert [report.reason.kind for report in listener.of(ChildExited)] == ["error"] * 3


@fake_time
async def test_a_child_cancelled_before_its_first_step_is_noticed(clock):
    ran = []

    async def child(ctx):
        ran.append(ctx.incarnation)
        ctx.ready()
        await asyncio.get_running_loop().create_future()

    root = supervisor(clock)
    await root.start()
    adding = asyncio.ensure_future(root.start_child(ChildSpec("a", child)))
    await until(lambda: named("worker a#1"))
    named("worker a#1")[0].cancel()
    with pytest.raises(StartError, match="cancelled"):
        await adding
    assert ran == []
    await root.stop()


@pytest.mark.parametrize("error", ERRORS)
@fake_time
async def test_nothing_that_a_child_raises_gets_past_its_supervisor(clock, error):
    listener, remote = Listener(), Remote()
    root = supervisor(clock, ChildSpec("a", remote), ChildSpec("b", forever), listener=listener)
    await root.start()
    remote.end("a", error())
    await clock.idle()
    assert [report.reason.kind for report in listener.of(ChildExited)] == ["error"]
    assert error.__name__ in listener.of(ChildExited)[0].reason.traceback
    assert states(root) == {"a": "running", "b": "running"}
    await root.stop()


@fake_time
async def test_a_supervisor_whose_task_is_cancelled_from_outside_takes_its_children_along(clock):
    remote = Remote()
    inner = SupervisorSpec(children=(ChildSpec("x", remote),))
    root = supervisor(clock, ChildSpec("a", remote), ChildSpec("inner", inner))
    await root.start()
    root.host.task.cancel()
    assert (await root.wait()).kind == "killed"
    await clock.idle()
    assert sorted(remote.log[2:]) == ["stop a", "stop x"]


@fake_time
async def test_children_of_a_killed_supervisor_are_told_the_newest_first(clock):
    remote = Remote()
    root = supervisor(clock, *(ChildSpec(id, remote) for id in "abc"))
    await root.start()
    root.kill()
    await root.wait()
    await clock.idle()
    assert remote.log[3:] == ["stop c", "stop b", "stop a"]


@pytest.mark.leaves("task", "the point of the test")
def test_the_end_of_the_event_loop_ends_the_tree():
    remote = Remote()

    async def main():
        root = Supervisor(SupervisorSpec(children=(ChildSpec("a", remote),)))
        await root.start()

    asyncio.run(main())
    assert remote.log == ["start a", "stop a"]


# ---- calls


@fake_time
async def test_calls_to_a_supervisor_that_is_gone_or_going(clock):
    stubborn = Stubborn()
    root = supervisor(clock, ChildSpec("a", stubborn, shutdown_s=1))
    with pytest.raises(NotRunningError):
        root.which_children()
    with pytest.raises(NotRunningError):
        await root.wait()
    with pytest.raises(NotRunningError):
        await root.stop()
    await root.start()
    waiting = asyncio.ensure_future(root.terminate_child("a"))
    await clock.idle()
    queued = asyncio.ensure_future(root.start_child(ChildSpec("b", forever)))
    await asyncio.sleep(0)
    stopping = asyncio.ensure_future(root.stop())
    await asyncio.sleep(0)
    with pytest.raises(NotRunningError):  # it has begun to end
        await root.delete_child("a")
    with pytest.raises(NotRunningError):  # this one was waiting for its turn
        await queued
    await waiting  # this one had its turn
    await stopping
    for call in (root.count_children, root.which_children):
        with pytest.raises(NotRunningError):
            call()
    with pytest.raises(NotRunningError):
        await root.start_child(ChildSpec("b", forever))
    stubborn.release()


@fake_time
async def test_a_caller_that_gives_up_does_not_disturb_the_supervisor(clock):
    stubborn = Stubborn()
    root = supervisor(clock, ChildSpec("a", stubborn, shutdown_s=1), ChildSpec("b", forever))
    await root.start()
    first = asyncio.ensure_future(root.terminate_child("a"))
    await clock.idle()
    second = asyncio.ensure_future(root.terminate_child("b"))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    await clock.settle()
    assert states(root) == {"a": "stopped", "b": "stopped"}  # what was asked for is done all the same
    stubborn.release()
    await root.stop()


@fake_time
async def test_a_child_may_stop_its_own_tree(clock):
    root = supervisor(clock)
    await root.start()

    async def ends_it_all(ctx):
        ctx.ready()
        await root.stop()

    await root.start_child(ChildSpec("a", ends_it_all))
    assert (await root.wait()).kind == "shutdown"


# ---- the machine around


@fake_time
async def test_children_live_although_nobody_holds_on_to_the_tree(clock):
    await supervisor(clock, ChildSpec("a", forever)).start()
    await clock.idle()
    gc.collect()  # the loop itself holds tasks weakly only
    found = named("worker a#1") + named("supervisor root#1")
    assert len(found) == 2
    for task in found:
        task.cancel()
    await clock.idle()


@pytest.mark.no_cover
@fake_time
async def test_ten_thousand_temporary_children(clock):
    asyncio.get_running_loop().set_debug(False)  # it records a stack for every task and future
    pool = Pool(PoolSpec(intensity=0), clock=clock)
    await pool.start()

    async def brief(ctx):
        ctx.ready()

    for _ in range(10_000):
        await pool.start_child(ChildSpec("t", brief, restart="temporary"))
    await clock.idle()
    assert pool.count_children().specs == 0
    assert len(asyncio.all_tasks()) == 2  # the pool and this test
    gc.collect()
    assert sum(type(thing) is Child for thing in gc.get_objects()) == 1  # the pool's own
    await pool.stop()


@fake_time
async def test_the_wall_clock_is_never_asked(clock):
    def jump():
        raise AssertionError("the wall clock was asked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", jump)
        patch.setattr(time, "time_ns", jump)
        remote = Remote()
        root = supervisor(clock, ChildSpec("a", remote))
        await root.start()
        remote.crash("a")
        await clock.idle()
        await root.stop()


@pytest.mark.parametrize("error", ERRORS)
@fake_time
async def test_a_listener_that_fails_does_not_matter(clock, error):
    def listener(report):
        raise error("broken dashboard")

    remote = Remote()
    root = supervisor(clock, ChildSpec("a", remote), listener=listener)
    await root.start()
    remote.crash("a")
    await clock.idle()
    assert states(root) == {"a": "running"}
    assert (await root.stop()).kind == "shutdown"


class Mute:
    """Nothing can be told of it."""

    def __str__(self):
        raise BaseException("mute")

    __repr__ = __str__


class MuteError(Exception):
    """Nothing can be told of it, nor can it be compared."""

    def __str__(self):
        raise BaseException("mute")

    def __eq__(self, other):
        raise BaseException("mute")

    __hash__ = __repr__ = None

    @property
    def __notes__(self):
        raise BaseException("mute")


@pytest.mark.parametrize(("detail", "message"), [(Mute(), "<no text: BaseException>"), ("told", "told")])
@fake_time
async def test_a_shutdown_is_one_whatever_its_detail_can_tell(clock, caplog, detail, message):
    def listener(report):
        reports.append(report)
        raise OSError("broken dashboard")

    reports, remote, unhandled = [], Remote(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unhandled.append(context))
    root = supervisor(clock, ChildSpec("a", remote, restart="transient"), listener=listener)
    await root.start()
    remote.end("a", Shutdown(detail))
    await clock.idle()
    assert states(root) == {"a": "stopped"}
    (reason,) = [report.reason for report in reports if isinstance(report, ChildExited)]
    assert (reason.kind, reason.message) == ("shutdown", message)
    assert reason.detail is detail
    await root.stop()
    gc.collect()
    assert unhandled == []
    assert f"the listener failed on ChildExited of {root.path}" in caplog.messages


@fake_time
async def test_an_error_that_cannot_be_told_is_an_error_all_the_same(clock):
    listener, remote = Listener(), Remote()
    root = supervisor(clock, ChildSpec("a", remote), listener=listener)
    await root.start()
    error = MuteError()
    error.__cause__ = MuteError()
    remote.end("a", error)
    await clock.idle()
    (reason,) = [report.reason for report in listener.of(ChildExited)]
    assert (reason.kind, reason.message, reason.traceback) == (
        "error",
        "<no text: BaseException>",
        "<no text: BaseException>",
    )
    assert states(root) == {"a": "running"}
    await root.stop()


def test_real_time_too():
    remote = Remote()
    children = ChildSpec("a", remote), ChildSpec("b", never_ready, start_timeout_s=0.01)

    async def main():
        with pytest.raises(StartError):
            await Supervisor(SupervisorSpec(children=children)).start()

    asyncio.run(main())
    assert remote.log == ["start a", "stop a"]


@pytest.mark.parametrize(("kind", "spec"), [(Supervisor, SupervisorSpec()), (Pool, PoolSpec())])
def test_an_option_that_does_not_exist_is_refused(kind, spec):
    with pytest.raises(TypeError, match="on_reprot"):
        kind(spec, on_reprot=print)
