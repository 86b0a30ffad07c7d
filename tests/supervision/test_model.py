"""Random trees and random events against a small model of OTP's rules.

Times are quarters of a second, exact in floats, so that the inclusive edge of the window is met often.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.supervision import ChildSpec, NotFoundError, Refuse, RunningError, StartError, Supervisor, SupervisorSpec
from selfplay.supervision.exits import Cause, ChildRef
from selfplay.supervision.park import EDGE_S, RestartIntensity
from tests.supervision.children import Remote
from tests.support.fake_clock import FakeClock

QUARTERS = st.integers(0, 20).map(lambda quarters: quarters / 4)
RESTARTS = st.lists(st.sampled_from(["permanent", "transient", "temporary"]), min_size=1, max_size=4)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("end"), st.integers(0, 3), st.booleans()),
        st.tuples(st.just("pass"), QUARTERS),
        st.tuples(st.just("fail_next"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("terminate"), st.integers(0, 3)),
        st.tuples(st.just("start"), st.integers(0, 3)),
    ),
    max_size=25,
)


class Model:
    """A supervisor as a function of what happens to it; `up` maps the children it knows to whether they run."""

    def __init__(self, strategy, intensity, period_s, restarts):
        self.strategy, self.intensity, self.period_s = strategy, intensity, period_s
        self.restart_of = {chr(ord("a") + n): restart for n, restart in enumerate(restarts)}
        self.up = dict.fromkeys(self.restart_of, True)
        self.fails = dict.fromkeys(self.restart_of, 0)
        self.log = [f"start {id}" for id in self.up]
        self.window, self.now, self.alive = [], 0.0, True

    def end(self, id, crash):
        self.log.append(f"end {id}")
        self.up[id] = False
        if self.restart_of[id] == "permanent" or (self.restart_of[id] == "transient" and crash):
            self.restart(id)
        else:
            self.forget_if_temporary(id)

    def restart(self, id):
        self.window = [at for at in self.window if at >= self.now - self.period_s] + [self.now]
        if len(self.window) > self.intensity:
            self.stop(list(self.up))
            self.alive = False
            return
        known = list(self.up)
        rest = known[known.index(id) :]
        group = {"one_for_one": [id], "one_for_all": known, "rest_for_one": rest}[self.strategy]
        self.stop(group)
        for member in [member for member in group if member in self.up]:
            if not self.start(member):
                return self.restart(member)

    def start(self, id):
        self.up[id] = self.fails[id] == 0
        self.fails[id] -= not self.up[id]
        self.log.append(f"{'start' if self.up[id] else 'no start'} {id}")
        return self.up[id]

    def stop(self, ids):
        for id in reversed(ids):
            if self.up[id]:
                self.log.append(f"stop {id}")
            self.up[id] = False
            self.forget_if_temporary(id)

    def forget_if_temporary(self, id):
        if self.restart_of[id] == "temporary":
            del self.up[id]


async def play(clock, model, events):
    """Lets the same happen to a real supervisor; yields after each event."""
    remote = Remote()
    children = tuple(ChildSpec(id, remote, restart=restart) for id, restart in model.restart_of.items())
    spec = SupervisorSpec(
        children=children, strategy=model.strategy, intensity=model.intensity, period_s=model.period_s
    )
    root = Supervisor(spec, clock=clock)
    await root.start()
    for event in events:
        await apply(event, root, remote, model, clock)
        await clock.idle()
        assert remote.log == model.log
        assert root.alive == model.alive
        if not model.alive:
            break
        assert {row.id: row.state == "running" for row in root.which_children()} == model.up
    await root.stop()


async def apply(event, root, remote, model, clock):
    what, *arguments = event
    if what == "pass":
        clock.advance(*arguments)
        model.now += arguments[0]
        return
    ids = sorted(model.restart_of)
    id = ids[arguments[0] % len(ids)]
    if what == "fail_next":
        model.fails[id] = arguments[1]
        remote.starts[id] = [Refuse() for _ in range(arguments[1])]
    elif what == "end" and model.up.get(id):
        remote.end(id, RuntimeError() if arguments[1] else None)
        model.end(id, arguments[1])
    elif what == "terminate":
        await terminate(id, root, model)
    elif what == "start":
        await start(id, root, model)


async def terminate(id, root, model):
    if id in model.up:
        model.stop([id])
        await root.terminate_child(id)
    else:
        with pytest.raises(NotFoundError):
            await root.terminate_child(id)


async def start(id, root, model):
    if id not in model.up:
        with pytest.raises(NotFoundError):
            await root.restart_child(id)
    elif model.up[id]:
        with pytest.raises(RunningError):
            await root.restart_child(id)
    elif model.start(id):
        await root.restart_child(id)
    else:
        with pytest.raises(StartError):
            await root.restart_child(id)


@settings(max_examples=100)
@given(
    strategy=st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    intensity=st.integers(0, 4),
    period_s=st.integers(1, 20).map(lambda quarters: quarters / 4),
    restarts=RESTARTS,
    events=EVENTS,
)
def test_a_supervisor_does_what_the_model_says(strategy, intensity, period_s, restarts, events):
    clock = FakeClock()
    clock.run(play(clock, Model(strategy, intensity, period_s, restarts), events))


@settings(max_examples=300)
@given(
    intensity=st.integers(0, 5),
    period_s=st.integers(1, 12).map(lambda quarters: quarters / 4),
    gaps=st.lists(QUARTERS, max_size=30),
)
def test_the_window_is_inclusive_and_counts_every_restart_in_it(intensity, period_s, gaps):
    window, times, now = RestartIntensity(intensity, period_s), [], 1000.0
    for gap in gaps:
        now += gap
        times.append(now)
        recent = [at for at in times if now - at <= period_s]
        allowed = window.add(now, Cause("root", ChildRef("a", len(times)), "boom"))
        assert allowed == (len(recent) <= intensity)
        assert window.first_cause.child.incarnation == times.index(recent[0]) + 1


def test_rounding_of_floats_does_not_move_the_edge():
    assert 0.8 - 0.7 > 0.1  # floats alone would put a restart at 0.1 outside of the window that ends at 0.8
    window = RestartIntensity(1, 0.7)
    assert window.add(0.1, Cause("root", ChildRef("a", 1), "boom"))
    assert not window.add(0.8, Cause("root", ChildRef("a", 2), "boom"))


@pytest.mark.parametrize(("ago", "counts"), [(0.0, True), (EDGE_S, True), (1e-6, False)])
def test_the_edge_is_as_wide_as_rounding_and_inside(ago, counts):
    window = RestartIntensity(1, 0.0)  # with a period of 0 these sums are exact in floats
    assert window.add(0.0, Cause("root", ChildRef("a", 1), "boom"))
    assert window.add(ago, Cause("root", ChildRef("a", 2), "boom")) != counts
