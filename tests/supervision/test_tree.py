"""Trees as their owners use them: reports, first causes, nested supervisors, `running`, refused specifications."""

import asyncio
import functools
import math
import random

import pytest

import selfplay.supervision.tree
from selfplay.supervision import (
    AlreadyPresentError,
    AlreadyStartedError,
    ChildCounts,
    ChildExited,
    ChildIgnored,
    ChildRef,
    ChildSpec,
    ChildStarted,
    ChildStartFailed,
    GaveUpError,
    Ignore,
    NotFoundError,
    ParkPolicy,
    Pool,
    PoolSpec,
    Refuse,
    RestartingError,
    RunningError,
    Shutdown,
    SpecError,
    StartError,
    SupervisionError,
    Supervisor,
    SupervisorEnded,
    SupervisorGaveUp,
    SupervisorSpec,
    SupervisorStarted,
    SupervisorStarting,
    running,
    sleep,
)
from selfplay.supervision.tree import TreeState
from tests.supervision.children import Listener, Remote, fake_time, forever, never_ready, until


def tree(remote, **flags):
    """root: a, games (pool), z."""
    children = (ChildSpec("a", remote), ChildSpec("games", PoolSpec(intensity=1)), ChildSpec("z", remote))
    return SupervisorSpec(children=children, **flags)


@fake_time
async def test_a_nested_pool_is_found_by_path_and_found_anew_after_a_restart(clock):
    remote = Remote()
    outer = SupervisorSpec(children=(ChildSpec("inner", tree(remote)),))
    async with running(Supervisor(outer, clock=clock)) as root:
        pool = root.find("inner/games", Pool)
        assert pool.path == "root/inner/games"
        await pool.start_child(ChildSpec("g", remote))
        assert root.find("inner", Supervisor).count_children() == ChildCounts(3, 3, 1, 2)
        pool.kill()
        await clock.idle()
        assert root.find("inner/games", Pool) is not pool
        for path, kind in [("games", Pool), ("inner/games", Supervisor), ("inner/a", Pool), ("", Pool)]:
            with pytest.raises(NotFoundError):
                root.find(path, kind)


@fake_time
async def test_a_supervisor_is_found_once_it_has_started(clock):
    async with running(Supervisor(SupervisorSpec(), clock=clock)) as root:
        inner = SupervisorSpec(children=(ChildSpec("x", never_ready, start_timeout_s=1),))
        adding = asyncio.ensure_future(root.start_child(ChildSpec("inner", inner)))
        await asyncio.sleep(0)
        await clock.idle()
        with pytest.raises(NotFoundError):
            root.find("inner", Supervisor)
        with pytest.raises(StartError):
            await adding


@fake_time
async def test_incarnations_count_on_when_a_nested_supervisor_is_restarted(clock):
    remote = Remote()
    async with running(Supervisor(tree(remote), clock=clock)) as root:
        for incarnation in (1, 2):
            pool = root.find("games", Pool)
            assert await pool.start_child(ChildSpec("g", remote)) == ChildRef("g", incarnation)
            pool.kill()
            await clock.idle() if incarnation == 1 else None


@fake_time
async def test_the_first_cause_travels_up_the_tree(clock):
    listener, remote = Listener(), Remote()
    inner = SupervisorSpec(children=(ChildSpec("x", remote),), intensity=1)
    root = Supervisor(
        SupervisorSpec(children=(ChildSpec("inner", inner),), intensity=0), clock=clock, on_report=listener, name="top"
    )
    await root.start()
    remote.end("x", OSError("disk full"))
    await clock.idle()
    remote.end("x", ValueError("something later"))
    reason = await root.wait()
    assert str(reason.cause) == "top/inner/x (incarnation 1): error: OSError: disk full"
    assert "Traceback" in reason.cause.traceback
    assert [report.supervisor for report in listener.of(SupervisorGaveUp)] == ["top/inner", "top"]
    assert {report.cause.message for report in listener.of(SupervisorGaveUp)} == {"error: OSError: disk full"}


@fake_time
async def test_a_failed_start_names_its_first_cause(clock):
    remote = Remote()
    remote.starts = {"z": [Refuse("port in use")]}
    outer = SupervisorSpec(children=(ChildSpec("inner", tree(remote)),))
    with pytest.raises(StartError, match=r"root/inner/z \(incarnation 1\): .*port in use"):
        await Supervisor(outer, clock=clock).start()
    assert remote.log == ["start a", "no start z", "stop a"]


@fake_time
async def test_reports_tell_the_whole_story(clock):
    listener, remote = Listener(), Remote()
    spec = SupervisorSpec(children=(ChildSpec("a", remote), ChildSpec("b", remote, restart="transient")), intensity=5)
    root = Supervisor(spec, clock=clock, on_report=listener)
    remote.starts = {"b": [Ignore()]}
    await root.start()
    remote.starts = {"a": [Refuse("busy")]}
    remote.crash("a")
    await clock.idle()
    await root.stop()
    assert [(type(report).__name__, getattr(report, "child", None)) for report in listener.reports] == [
        ("SupervisorStarting", None),
        ("ChildStarted", ChildRef("a", 1)),
        ("ChildIgnored", ChildRef("b", 1)),
        ("SupervisorStarted", None),
        ("ChildExited", ChildRef("a", 1)),
        ("ChildStartFailed", ChildRef("a", 2)),
        ("ChildStarted", ChildRef("a", 3)),
        ("ChildExited", ChildRef("a", 3)),
        ("SupervisorEnded", None),
    ]
    assert [report.restarts for report in listener.of(ChildStarted)] == [0, 2]
    assert [report.restarts for report in listener.of(ChildStartFailed)] == [1]
    crash, stop = listener.of(ChildExited)
    assert (crash.asked, crash.reason.kind, crash.reason.message) == (False, "error", "RuntimeError: boom")
    assert (stop.asked, stop.reason.kind, stop.restarts) == (True, "shutdown", 2)
    assert {report.supervisor for report in listener.reports} == {"root"}
    assert listener.of(ChildIgnored)
    assert len(listener.of(SupervisorStarting) + listener.of(SupervisorStarted) + listener.of(SupervisorEnded)) == 3


@fake_time
async def test_calls_about_children_fail_with_otps_words(clock):
    remote = Remote()
    children = (ChildSpec("a", remote), ChildSpec("b", remote))
    async with running(Supervisor(SupervisorSpec(children=children), clock=clock)) as root:
        await root.terminate_child("b")
        cases = [
            (root.start_child(ChildSpec("a", remote)), AlreadyStartedError, "already_started"),
            (root.start_child(ChildSpec("b", remote)), AlreadyPresentError, "already_present"),
            (root.restart_child("a"), RunningError, "running"),
            (root.delete_child("a"), RunningError, "running"),
            (root.terminate_child("c"), NotFoundError, "not_found"),
            (root.restart_child("c"), NotFoundError, "not_found"),
            (root.delete_child("c"), NotFoundError, "not_found"),
        ]
        for call, error, code in cases:
            with pytest.raises(error, match=code):
                await call
        remote.starts = {"b": [Refuse("why")]}
        with pytest.raises(StartError, match="why"):
            await root.restart_child("b")
        assert (await root.restart_child("b")).incarnation == 3
        with pytest.raises(SupervisionError, match="before"):
            await root.start()


@fake_time
async def test_a_restarting_child_can_be_neither_restarted_nor_deleted(clock):
    async def refuses_again(ctx):
        if ctx.incarnation > 1:
            raise Refuse
        ctx.ready()

    spec = SupervisorSpec(children=(ChildSpec("a", refuses_again),), intensity=10**6)
    async with running(Supervisor(spec, clock=clock)) as root:
        await until(lambda: root.which_children()[0].state == "restarting")
        for call in (root.restart_child, root.delete_child):
            with pytest.raises(RestartingError):
                await call("a")
        with pytest.raises(AlreadyPresentError):
            await root.start_child(ChildSpec("a", forever))


@fake_time
async def test_running_raises_when_the_tree_gave_up(clock):
    remote = Remote()

    async def main():
        async with running(Supervisor(tree(remote, intensity=0), clock=clock)) as root:
            remote.crash("a")
            await root.wait()

    with pytest.raises(GaveUpError, match="boom"):
        await main()


@fake_time
async def test_running_stops_the_tree_when_the_block_fails_and_keeps_its_error(clock):
    remote = Remote()
    with pytest.raises(KeyError):
        async with running(Supervisor(tree(remote), clock=clock)):
            raise KeyError
    assert remote.log == ["start a", "start z", "stop z", "stop a"]


@fake_time
async def test_running_is_content_with_an_automatic_shutdown(clock):
    remote = Remote()
    child = ChildSpec("a", remote, restart="transient", significant=True)
    spec = SupervisorSpec(children=(child, ChildSpec("b", remote)), auto_shutdown="any_significant")
    async with running(Supervisor(spec, clock=clock)) as root:
        remote.end("a", Shutdown("done"))
        assert (await root.wait()).clean
    assert remote.log == ["start a", "start b", "end a", "stop b"]


@fake_time
async def test_the_clock_of_the_context_is_the_trees(clock):
    woken = []

    async def child(ctx):
        ctx.ready()
        await sleep(ctx.clock, 3600)
        woken.append(clock.time())
        await asyncio.get_running_loop().create_future()

    before = clock.time()
    async with running(Supervisor(SupervisorSpec(children=(ChildSpec("a", child),)), clock=clock)):
        await clock.settle()
    assert woken == [before + 3600]


@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("invalid_id", lambda: ChildSpec("", forever)),
        ("invalid_id", lambda: ChildSpec("a/b", forever)),
        ("invalid_mfa", lambda: ChildSpec("a", None)),
        ("invalid_mfa", lambda: ChildSpec("a", "forever")),
        ("invalid_mfa", lambda: ChildSpec("a", lambda ctx: None)),
        ("invalid_mfa", lambda: ChildSpec("a", functools.partial(print, "a"))),
        ("invalid_mfa", lambda: ChildSpec("a", Remote)),
        ("invalid_restart_type", lambda: ChildSpec("a", forever, restart="sometimes")),
        ("invalid_shutdown", lambda: ChildSpec("a", forever, shutdown_s=-1)),
        ("invalid_shutdown", lambda: ChildSpec("a", forever, shutdown_s=math.nan)),
        ("invalid_shutdown", lambda: ChildSpec("a", forever, shutdown_s="kill")),
        ("invalid_start_timeout", lambda: ChildSpec("a", forever, start_timeout_s=-1)),
        ("invalid_strategy", lambda: SupervisorSpec(strategy="simple_one_for_one")),
        ("invalid_intensity", lambda: SupervisorSpec(intensity=-1)),
        ("invalid_intensity", lambda: SupervisorSpec(intensity=2.5)),
        ("invalid_intensity", lambda: PoolSpec(intensity=math.inf)),
        ("invalid_intensity", lambda: ParkPolicy(max_restarts=2.5)),
        ("invalid_period", lambda: SupervisorSpec(period_s=0)),
        ("invalid_period", lambda: PoolSpec(period_s=math.inf)),
        ("invalid_auto_shutdown", lambda: SupervisorSpec(auto_shutdown="always")),
        ("duplicate_child_name", lambda: SupervisorSpec(children=(ChildSpec("a", forever), ChildSpec("a", forever)))),
        ("bad_combination", lambda: SupervisorSpec(children=(ChildSpec("a", forever, "transient", significant=True),))),
        (
            "bad_combination",
            lambda: SupervisorSpec(
                children=(ChildSpec("a", forever, significant=True),), auto_shutdown="all_significant"
            ),
        ),
        ("invalid_backoff", lambda: ParkPolicy(backoff_s=0)),
        ("invalid_backoff", lambda: ParkPolicy(backoff_s=2, max_backoff_s=1)),
        ("invalid_max_parked", lambda: ParkPolicy(max_parked=-1)),
        ("invalid_max_parked", lambda: ParkPolicy(max_parked=2.5)),
    ],
)
def test_specifications_are_checked_when_they_are_made(code, make):
    with pytest.raises(SpecError, match=code):
        make()


@pytest.mark.parametrize(
    "start",
    [forever, Remote(), Remote().__call__, functools.partial(forever), functools.partial(functools.partial(Remote()))],
)
def test_whatever_is_a_coroutine_function_can_be_started(start):
    assert ChildSpec("a", start).kind == "worker"


@fake_time
async def test_ready_in_another_thread_is_refused(clock):
    async def threaded(ctx):
        await asyncio.to_thread(ctx.ready)

    with pytest.raises(StartError, match=r"SupervisionError: a: in a thread, .*call_soon_threadsafe"):
        await Supervisor(SupervisorSpec(children=(ChildSpec("a", threaded),)), clock=clock).start()


def test_no_number_of_an_id_is_used_twice_although_ids_are_forgotten(monkeypatch):
    monkeypatch.setattr(selfplay.supervision.tree, "REMEMBERED_IDS", 3)
    tree, draw = TreeState(), random.Random(0)
    last = {}
    for _ in range(1000):
        ref = tree.next_ref("root", draw.choice("abcdefgh"))
        assert ref.incarnation > last.get(ref.id, 0)
        last[ref.id] = ref.incarnation
        assert len(tree._attempts) <= 3


def test_ids_that_are_used_a_lot_count_from_one_and_leave_out_nothing():
    tree = TreeState()
    assert [tree.next_ref("root", id).incarnation for id in "aabbab"] == [1, 2, 1, 2, 3, 3]
    assert tree.next_ref("root/inner", "a").incarnation == 1


def test_default_graces():
    assert ChildSpec("a", forever).grace == 5.0
    assert ChildSpec("a", PoolSpec()).grace == math.inf
    assert ChildSpec("a", forever, shutdown_s=0).grace == "brutal_kill"


@fake_time
async def test_nothing_in_a_pool_is_significant(clock):
    async with running(Pool(PoolSpec(), clock=clock)) as pool:
        with pytest.raises(SpecError, match="bad_combination"):
            await pool.start_child(ChildSpec("a", forever, restart="transient", significant=True))


def out_of_memory():
    error = OSError("no segment")
    error.__cause__ = MemoryError("no room")
    return error


@pytest.mark.parametrize("error", [MemoryError("no room"), out_of_memory()], ids=["itself", "as the cause"])
@pytest.mark.parametrize("park", [None, ParkPolicy()], ids=["", "with a park"])
@fake_time
async def test_nothing_is_restarted_after_a_memory_error(clock, error, park):
    """A restart would allocate the same again: every supervisor above gives up."""
    remote, listener = Remote(), Listener()
    pool = ChildSpec("games", PoolSpec(intensity=9, park=park))
    inner = SupervisorSpec(children=(ChildSpec("a", remote), pool), intensity=9, park=park)
    root = Supervisor(
        SupervisorSpec(children=(ChildSpec("inner", inner),), intensity=9), clock=clock, on_report=listener
    )
    await root.start()
    await root.find("inner/games", Pool).start_child(ChildSpec("g", remote))
    remote.end("g", error)
    reason = await root.wait()
    assert "no room" in str(reason.cause)
    assert remote.log == ["start a", "start g", "end g", "stop a"]
    assert [report.supervisor for report in listener.of(SupervisorGaveUp)] == ["root/inner/games", "root/inner", "root"]


@fake_time
async def test_a_start_that_fails_for_want_of_memory_is_not_tried_again_by_who_asked_for_it(clock):
    remote = Remote()
    remote.starts = {"g": [MemoryError("no room")]}
    tries = []

    async def asks(ctx):
        tries.append(ctx.incarnation)
        ctx.ready()
        await root.find("games", Pool).start_child(ChildSpec("g", remote))

    children = (ChildSpec("games", PoolSpec()), ChildSpec("asks", asks))
    root = Supervisor(SupervisorSpec(children=children, intensity=9), clock=clock)
    with pytest.raises(GaveUpError, match="no room"):
        async with running(root):
            await clock.idle()
    assert tries == [1]
