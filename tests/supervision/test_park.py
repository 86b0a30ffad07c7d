"""The park of a static supervisor: a child in a crash loop waits, and with it those that depend on it."""

import pytest

from selfplay.supervision import (
    ChildParked,
    ChildSpec,
    ParkPolicy,
    Refuse,
    RestartingError,
    Supervisor,
    SupervisorGaveUp,
    SupervisorSpec,
    running,
)
from tests.supervision.children import Listener, Remote, fake_time

PARK = ParkPolicy(max_restarts=1, period_s=10, backoff_s=2, max_backoff_s=8)


class Static:
    """A supervisor of the children a, b and c, which end when the test says so."""

    def __init__(self, clock, park=PARK, **flags):
        self.clock, self.listener, self.remote = clock, Listener(), Remote()
        children = tuple(ChildSpec(id, self.remote) for id in "abc")
        spec = SupervisorSpec(children=children, park=park, **{"intensity": 3, **flags})
        self.root = Supervisor(spec, clock=clock, on_report=self.listener)

    async def crash(self, id, times=1):
        """What follows of the last crash."""
        for _ in range(times):
            self.remote.log.clear()
            self.remote.end(id, OSError(f"no disk for {id}"))
            await self.clock.idle()
        return list(self.remote.log)

    async def passes(self, seconds):
        self.remote.log.clear()
        await self.clock.sleep(seconds)
        await self.clock.idle()
        return list(self.remote.log)

    def states(self):
        return " ".join(row.state for row in self.root.which_children())


@fake_time
async def test_a_crash_loop_waits_longer_each_time_and_spends_no_budget(clock):
    static = Static(clock, intensity=1)
    async with running(static.root):
        await static.crash("b", 2)
        assert static.states() == "running parked running"
        for delay_s in (2, 4, 8, 8):
            assert await static.passes(delay_s - 0.5) == []
            assert await static.passes(0.5) == ["start b"]
            assert await static.crash("b") == ["end b"]
        parked = static.listener.of(ChildParked)
        assert [(report.delay_s, report.times) for report in parked] == [(2, 1), (4, 2), (8, 3), (8, 4), (8, 5)]
        assert {str(report.cause) for report in parked} == {"root/b (incarnation 1): error: OSError: no disk for b"}


@fake_time
async def test_a_child_that_stays_up_is_forgiven(clock):
    static = Static(clock)
    async with running(static.root):
        await static.crash("b", 2)
        await static.passes(2 + PARK.period_s)
        assert await static.crash("b") == ["end b", "start b"]
        await static.crash("b")
        assert [report.times for report in static.listener.of(ChildParked)] == [1, 1]


@fake_time
async def test_the_park_can_be_left_early(clock):
    static = Static(clock, strategy="rest_for_one")
    async with running(static.root):
        await static.crash("b", 2)
        static.root.leave_park()
        static.root.leave_park()  # more than once changes nothing
        assert await static.passes(0) == ["start b", "start c"]
        assert await static.passes(PARK.backoff_s) == []  # it has no timer any more


@pytest.mark.parametrize(
    ("strategy", "stopped", "states", "started"),
    [
        ("one_for_one", [], "running parked running", ["start b"]),
        ("rest_for_one", ["stop c"], "running parked stopped", ["start b", "start c"]),
        ("one_for_all", ["stop c", "stop a"], "stopped parked stopped", ["start a", "start b", "start c"]),
    ],
)
@fake_time
async def test_those_that_depend_on_a_parked_child_wait_with_it(clock, strategy, stopped, states, started):
    static = Static(clock, strategy=strategy)
    async with running(static.root):
        assert await static.crash("b", 2) == ["end b", *stopped]
        assert static.states() == states
        assert await static.passes(2) == started
        assert static.states() == "running running running"


@fake_time
async def test_failing_to_restart_parks_too_and_names_the_child_that_fails(clock):
    static = Static(clock, strategy="rest_for_one", intensity=9)
    async with running(static.root):
        static.remote.starts = {"c": [Refuse("no disk")] * 3}
        assert await static.crash("b") == ["end b", "stop c", "start b", "no start c", "no start c"]
        assert static.states() == "running running parked"
        assert static.listener.of(ChildParked)[0].cause.child.id == "c"
        assert await static.passes(2) == ["no start c"]
        assert await static.passes(4) == ["start c"]


@fake_time
async def test_a_parked_child_starts_with_the_group_of_another_and_is_not_forgiven_by_that(clock):
    static = Static(clock, strategy="rest_for_one")
    async with running(static.root):
        await static.crash("b", 2)
        assert await static.crash("a") == ["end a", "start a", "start b", "start c"]
        assert await static.passes(2) == []  # its time in the park is void
        assert await static.crash("b") == ["end b", "stop c"]
        assert [report.times for report in static.listener.of(ChildParked)] == [1, 2]


@fake_time
async def test_a_parked_child_that_is_stopped_with_the_group_of_another_waits_for_that(clock):
    static = Static(clock, strategy="rest_for_one", intensity=9)
    async with running(static.root):
        await static.crash("b")
        await static.crash("c", 2)
        assert static.states() == "running running parked"
        assert await static.crash("b") == ["end b"]
        assert static.states() == "running parked stopped"
        assert await static.passes(2) == ["start b", "start c"]
        assert await static.passes(60) == []


@fake_time
async def test_calls_about_a_parked_child(clock):
    static = Static(clock)
    async with running(static.root) as root:
        await static.crash("b", 2)
        with pytest.raises(RestartingError):
            await root.restart_child("b")
        with pytest.raises(RestartingError):
            await root.delete_child("b")
        await root.terminate_child("b")
        assert static.states() == "running stopped running"
        assert await static.passes(60) == []
        assert (await root.restart_child("b")).incarnation == 3
        await root.terminate_child("b")
        await root.delete_child("b")
        assert static.states() == "running running"


@fake_time
async def test_stopping_does_not_wait_for_the_park(clock):
    static = Static(clock, strategy="rest_for_one")
    await static.root.start()
    await static.crash("b", 2)
    before = clock.time()
    await static.root.stop()
    await clock.settle()
    assert clock.time() == before
    assert static.remote.log == ["end b", "stop c", "stop a"]


@fake_time
async def test_a_child_that_fails_for_good_ends_the_supervisor_with_its_first_cause(clock):
    static = Static(clock, ParkPolicy(max_restarts=0, backoff_s=2, max_times=2))
    await static.root.start()
    static.remote.end("b", ValueError("the first"))
    await clock.idle()
    await static.passes(2)
    await static.crash("b")
    await static.passes(4)
    assert await static.crash("b") == ["end b", "stop c", "stop a"]
    reason = await static.root.wait()
    assert reason.message == "'b' failed again after being parked 2 times"
    assert "ValueError: the first" in str(reason.cause)
    assert len(static.listener.of(SupervisorGaveUp)) == 1


@fake_time
async def test_too_many_parked_children_end_the_supervisor(clock):
    static = Static(clock, ParkPolicy(max_restarts=0, max_parked=1))
    await static.root.start()
    await static.crash("b")
    assert static.root.alive
    await static.crash("c")
    assert (await static.root.wait()).message == "more than 1 children parked"


@fake_time
async def test_a_significant_child_in_the_park_is_still_there(clock):
    remote = Remote()
    children = tuple(ChildSpec(id, remote, restart="transient", significant=True) for id in "ab")
    spec = SupervisorSpec(children=children, auto_shutdown="all_significant", park=ParkPolicy(max_restarts=0))
    async with running(Supervisor(spec, clock=clock)) as root:
        remote.crash("a")
        await clock.idle()
        remote.end("b")
        await clock.idle()
        assert root.alive
        await clock.sleep(1)
        assert remote.log == ["start a", "start b", "end a", "end b", "start a"]
