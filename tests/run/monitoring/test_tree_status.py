"""What is written down of a tree: its children's states, and their deaths."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from selfplay.report.tree_status import LINE, TEXT, Crash, TreeStatus
from selfplay.run.monitoring.secrets import without_secrets
from selfplay.run.monitoring.tree_status import STACKS, TreeObserver
from selfplay.supervision import (
    ChildExited,
    ChildRef,
    ChildSpec,
    ExitReason,
    Ignore,
    ParkPolicy,
    Pool,
    PoolSpec,
    StartError,
    Supervisor,
    SupervisorSpec,
)
from tests.supervision.children import Remote, Stubborn, fake_time, never_ready

BEGAN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class Watched:
    """A tree of one worker and a pool, with what is written down of it."""

    def __init__(self, clock, remote, **spec):
        self.crashes = []
        children = (
            ChildSpec("runners", PoolSpec(intensity=9, park=ParkPolicy(max_restarts=1, period_s=60, backoff_s=8))),
            ChildSpec("learner", remote, restart="transient", shutdown_s=2),
        )
        options = {"children": children, "intensity": 9, **spec}
        self.root = Supervisor(SupervisorSpec(**options), clock=clock, on_report=self._tell)
        start = clock.time()
        self.observer = TreeObserver(self.root, lambda: BEGAN + timedelta(seconds=clock.time() - start))

    def _tell(self, report):
        crash = self.observer.on_report(report)
        if crash is not None:
            self.crashes.append(crash)

    def row(self, path):
        return {row.id: row for row in self.observer.standing().rows}[path]


@fake_time
async def test_states_follow_the_children(clock):
    remote = Remote()
    tree = Watched(clock, remote)
    await tree.root.start()
    pool = tree.root.find("runners", Pool)
    await pool.start_child(ChildSpec("r", remote))
    assert [(row.id, row.kind, row.state) for row in tree.observer.standing().rows] == [
        ("root", "supervisor", "running"),
        ("root/runners", "supervisor", "running"),
        ("root/learner", "worker", "running"),
        ("root/runners/r", "worker", "running"),
    ]
    await clock.sleep(5)
    remote.end("r", OSError("no disc"))
    await clock.idle()
    row = tree.row("root/runners/r")
    assert (row.state, row.incarnation, row.restarts) == ("running", 2, 1)
    assert row.since == BEGAN + timedelta(seconds=5)
    assert row.crash == "error: OSError: no disc"
    remote.end("r", OSError("no disc"))
    await clock.idle()
    row = tree.row("root/runners/r")
    assert (row.state, row.until) == ("parked", BEGAN + timedelta(seconds=13))
    remote.end("learner")
    await clock.idle()
    assert tree.row("root/learner").state == "stopped"  # its end was none that anybody must be told of
    await clock.sleep(8)
    row = tree.row("root/runners/r")
    assert (row.state, row.until, row.incarnation, row.down_s) == ("running", None, 3, 8)
    await tree.root.stop()
    standing = tree.observer.standing("finished")
    assert {row.state for row in standing.rows} == {"stopped"}
    assert (standing.ended, standing.crashes) == ("finished", 2)
    assert [(crash.id, crash.incarnation, crash.kind) for crash in tree.crashes] == [
        ("root/runners/r", 1, "error"),
        ("root/runners/r", 2, "error"),
    ]


@fake_time
async def test_a_crash_is_told_whole(clock):
    remote = Remote()
    tree = Watched(clock, remote)
    await tree.root.start()
    await clock.sleep(5)
    error = RuntimeError("no game")
    error.__cause__ = KeyError("the first")
    remote.end("learner", error)
    await clock.idle()
    (crash,) = tree.crashes
    assert (crash.id, crash.incarnation, crash.kind, crash.started) == ("root/learner", 1, "error", True)
    assert (crash.restarts, crash.lived_s, crash.time) == (0, 5, BEGAN + timedelta(seconds=5))
    assert crash.at_s == 5  # by the tree's clock, whatever the wall clock says
    assert (crash.message, crash.first_cause) == ("RuntimeError: no game", "KeyError: 'the first'")
    assert crash.file.endswith("children.py")
    assert crash.line > 0
    assert crash.function == "Remote.__call__"
    assert crash.traceback.index("KeyError: 'the first'") < crash.traceback.index("RuntimeError: no game")
    await tree.root.stop()


@fake_time
async def test_who_does_not_stop_is_abandoned_until_it_ends(clock):
    stubborn = Stubborn()
    tree = Watched(clock, stubborn)
    await tree.root.start()
    await tree.root.terminate_child("learner")
    row = tree.row("root/learner")
    assert (row.state, row.abandoned, row.kind) == ("abandoned", 1, "worker")
    assert row.stack.startswith("incarnation 1, abandoned:\n")
    assert "Stubborn.__call__ (" in row.stack
    assert [(crash.kind, crash.message, crash.lived_s) for crash in tree.crashes] == [
        ("abandoned", "did not stop in time", 2)
    ]
    await tree.root.restart_child("learner")
    row = tree.row("root/learner")
    assert (row.state, row.abandoned, row.incarnation) == ("running", 1, 2)
    stubborn.release()
    await clock.idle()
    row = tree.row("root/learner")
    assert (row.abandoned, row.stack) == (0, "")
    await tree.root.stop()


@fake_time
async def test_a_child_that_takes_its_time_to_start_or_to_stop_shows_where_it_waits(clock):
    stubborn = Stubborn()
    tree = Watched(clock, stubborn)
    await tree.root.start()
    pool = tree.root.find("runners", Pool)
    adding = asyncio.ensure_future(pool.start_child(ChildSpec("r", never_ready, start_timeout_s=4)))
    await clock.idle()
    row = tree.row("root/runners/r")
    assert (row.state, row.incarnation, row.stack.count("never_ready")) == ("starting", 1, 1)
    await clock.sleep(4)
    await asyncio.wait({adding})
    assert "not ready within 4 s" in str(adding.exception())
    row = tree.row("root/runners/r")
    assert (row.state, row.stack) == ("stopped", "")
    stop = asyncio.ensure_future(tree.root.stop())
    await clock.idle()
    row = tree.row("root/learner")
    assert (row.state, row.stack.startswith("incarnation 1, stopping:\n")) == ("stopping", True)
    stubborn.release()
    await stop
    row = tree.row("root/learner")
    assert (row.state, row.stack) == ("stopped", "")


@fake_time
async def test_a_child_that_declines_does_not_start_for_ever(clock):
    declines = asyncio.Event()

    async def child(ctx):
        await declines.wait()
        raise Ignore

    tree = Watched(clock, Remote())
    await tree.root.start()
    adding = asyncio.ensure_future(tree.root.find("runners", Pool).start_child(ChildSpec("r", child)))
    await clock.idle()
    assert tree.row("root/runners/r").state == "starting"
    declines.set()
    assert await adding is None
    assert tree.row("root/runners/r").state == "stopped"
    await tree.root.stop()


@fake_time
async def test_stacks_of_many_that_hang_are_bounded(clock):
    stubborn = Stubborn()
    tree = Watched(clock, Remote())
    await tree.root.start()
    pool = tree.root.find("runners", Pool)
    for number in range(2 * STACKS):
        await pool.start_child(ChildSpec(f"r{number}", stubborn, shutdown_s=1))
        await pool.terminate_child(f"r{number}")
    assert sum(bool(row.stack) for row in tree.observer.standing().rows) == STACKS
    stubborn.release()
    await tree.root.stop()


@fake_time
async def test_a_start_that_fails_and_a_supervisor_that_gives_up_name_the_first_cause(clock):
    remote = Remote()
    tree = Watched(clock, remote, intensity=1)
    await tree.root.start()
    remote.starts["learner"] = [OSError("later")] * 3
    remote.end("learner", ValueError("the first"))
    await tree.root.wait()
    assert [(crash.kind, crash.started, crash.message) for crash in tree.crashes] == [
        ("error", True, "ValueError: the first"),
        ("error", False, "OSError: later"),
        ("gave up", True, "more than 1 restarts in 5 s"),
    ]
    last = tree.crashes[-1]
    assert last.first_cause == "root/learner (incarnation 1): error: ValueError: the first"
    assert "ValueError: the first" in last.traceback
    assert tree.row("root").crash == "gave up: more than 1 restarts in 5 s"


@fake_time
async def test_a_start_that_takes_too_long_is_a_crash_without_a_frame(clock):
    tree = Watched(clock, Remote())
    await tree.root.start()
    with pytest.raises(Exception, match="not ready within 1 s"):
        await tree.root.start_child(ChildSpec("slow", never_ready, start_timeout_s=1))
    (crash,) = tree.crashes
    assert (crash.message, crash.started, crash.file) == ("not ready within 1 s", False, "")
    await tree.root.stop()


@pytest.mark.parametrize("year", [1970, 9998])
def test_a_wall_clock_that_is_wrong_by_ages_loses_no_report(year):
    observer = TreeObserver(Supervisor(SupervisorSpec()), lambda: datetime(year, 1, 1, tzinfo=UTC))
    crash = observer.on_report(ChildExited("root", ChildRef("a", 1), ExitReason("error", "x"), 0, False, False, 1.0))
    assert crash.time.year == year
    Crash.model_validate_json(crash.model_dump_json())
    TreeStatus.model_validate_json(observer.standing().model_dump_json())
    assert f"{crash.time.astimezone():%Y-%m-%d %H:%M:%S}"


@fake_time
async def test_a_start_that_is_given_up_because_its_supervisor_ends_is_no_crash(clock):
    tree = Watched(clock, never_ready)
    start = asyncio.ensure_future(tree.root.start())
    await clock.idle()
    await tree.root.stop()
    with pytest.raises(StartError):
        await start
    assert tree.crashes == []


@fake_time
async def test_an_error_of_any_size_and_with_any_characters_can_be_written_down(clock):
    remote = Remote()
    tree = Watched(clock, remote)
    await tree.root.start()
    remote.end("learner", ValueError("\udc80\x00" + "x" * 10**6))
    await clock.idle()
    (crash,) = tree.crashes
    assert len(crash.message) <= LINE
    assert len(crash.traceback) <= TEXT
    assert "characters left out" in crash.message
    crash.model_validate_json(crash.model_dump_json())
    await tree.root.stop()


@fake_time
async def test_secrets_of_the_environment_are_not_told(clock):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", "hunter2hunter2")
        patch.setenv("HOME_OF_NOTHING", "plainplain")
        remote = Remote()
        tree = Watched(clock, remote)
        await tree.root.start()
        remote.end("learner", OSError("plainplain refused hunter2hunter2 at http://me:pw@host/x, Bearer abc.def"))
        await asyncio.sleep(0)
        await clock.idle()
        await tree.root.stop()
    (crash,) = tree.crashes
    written = crash.model_dump_json()
    assert "OSError: plainplain refused *** at http://***@host/x, Bearer ***" in written
    assert not any(secret in written for secret in ("hunter2", "me:pw", "abc.def"))


@pytest.mark.parametrize(
    "name", ["MY_KEY", "MY_TOKEN", "MY_SECRET", "MY_PASSWORD", "MY_CREDENTIALS", "MY_AUTH", "my_api_key"]
)
def test_every_name_that_secrets_have_is_known(monkeypatch, name):
    monkeypatch.setenv(name, "hunter2hunter2")
    assert without_secrets("x hunter2hunter2 y") == "x *** y"


def test_a_short_value_is_not_looked_for(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "1")
    assert without_secrets("iteration 11") == "iteration 11"


def test_a_secret_that_begins_with_another_is_hidden_as_a_whole(monkeypatch):
    monkeypatch.setenv("A_KEY", "abcdef")
    monkeypatch.setenv("B_TOKEN", "abcdefSECRETREST")
    assert without_secrets("x abcdefSECRETREST y abcdef z") == "x *** y *** z"
