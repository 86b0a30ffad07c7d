"""A whole tree at one moment, and what an end tells of its error."""

from pathlib import Path

import pytest

from selfplay.supervision import (
    ChildExited,
    ChildSpec,
    ChildStartFailed,
    Pool,
    PoolSpec,
    Supervisor,
    SupervisorGaveUp,
    SupervisorSpec,
    walk_tree,
)
from selfplay.supervision.exits import origin_of
from tests.supervision.children import Listener, Remote, fake_time, forever, never_ready


def by_path(root):
    return {path: (info.kind, info.state) for path, info in walk_tree(root)}


@fake_time
async def test_every_child_is_told_by_its_path_those_above_first(clock):
    remote = Remote()
    inner = SupervisorSpec(children=(ChildSpec("feed", forever),))
    children = (ChildSpec("runners", PoolSpec()), ChildSpec("learner", remote), ChildSpec("reporting", inner))
    root = Supervisor(SupervisorSpec(children=children), clock=clock)
    assert list(walk_tree(root)) == []  # it does not run yet
    await root.start()
    await root.find("runners", Pool).start_child(ChildSpec("runner-000", forever))
    assert by_path(root) == {
        "root/runners": ("supervisor", "running"),
        "root/runners/runner-000": ("worker", "running"),
        "root/learner": ("worker", "running"),
        "root/reporting": ("supervisor", "running"),
        "root/reporting/feed": ("worker", "running"),
    }
    await root.terminate_child("reporting")
    assert by_path(root)["root/reporting"] == ("supervisor", "stopped")
    assert "root/reporting/feed" not in by_path(root)
    await root.stop()
    assert list(walk_tree(root)) == []


@fake_time
async def test_an_end_says_how_long_the_child_lived(clock):
    listener, remote = Listener(), Remote()
    root = Supervisor(SupervisorSpec(children=(ChildSpec("a", remote),), intensity=0), clock=clock, on_report=listener)
    await root.start()
    await clock.sleep(7)
    remote.crash("a")
    await root.wait()
    assert [report.lived_s for report in listener.of(ChildExited)] == [7]
    assert [report.lived_s for report in listener.of(SupervisorGaveUp)] == [7]


@fake_time
async def test_a_start_that_failed_says_how_long_it_was_tried(clock):
    listener = Listener()
    spec = SupervisorSpec(children=(ChildSpec("a", never_ready, start_timeout_s=3),))
    root = Supervisor(spec, clock=clock, on_report=listener)
    with pytest.raises(Exception, match="not ready within 3 s"):
        await root.start()
    assert [report.lived_s for report in listener.of(ChildStartFailed)] == [3]


def chained():
    try:
        try:
            [].pop()
        except IndexError as error:
            raise ValueError("no disc") from error
    except ValueError as error:
        try:
            raise RuntimeError("no game") from error
        except RuntimeError as last:
            return last


def test_the_first_error_of_a_chain_is_told_with_its_place():
    origin = origin_of(chained())
    assert origin.message == "IndexError: pop from empty list"
    assert (origin.file, origin.function) == (__file__, "chained")
    assert Path(__file__).read_text().splitlines()[origin.line - 1].strip() == "[].pop()"


def test_an_error_that_was_never_raised_has_no_place_and_one_that_it_led_to_lends_its_own():
    assert origin_of(KeyError("a")).file == ""
    try:
        raise ValueError("b") from KeyError("a")
    except ValueError as error:
        origin = origin_of(error)
    assert (origin.message, origin.function) == (
        "KeyError: 'a'",
        "test_an_error_that_was_never_raised_has_no_place_and_one_that_it_led_to_lends_its_own",
    )


def test_a_ring_of_errors_has_an_end():
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert origin_of(first).message == "ValueError: 2"


@fake_time
async def test_who_gives_up_names_the_first_cause_and_where_it_came_from(clock):
    """The first failure of the window, and in it the error at the root of the chain."""
    listener, errors = Listener(), iter([chained(), *(OSError("later") for _ in range(9))])

    async def child(ctx):
        ctx.ready()
        raise next(errors)

    inner = SupervisorSpec(children=(ChildSpec("a", child),), intensity=2)
    root = Supervisor(
        SupervisorSpec(children=(ChildSpec("inner", inner),), intensity=0), clock=clock, on_report=listener
    )
    await root.start()
    reason = await root.wait()
    gave_up = listener.of(SupervisorGaveUp)
    assert [report.supervisor for report in gave_up] == ["root/inner", "root"]
    for told in (*(str(report.cause) for report in gave_up), str(reason)):
        assert "root/inner/a (incarnation 1): error: RuntimeError: no game; it began with IndexError: pop" in told
    assert gave_up[1].cause.origin.function == "chained"


@fake_time
async def test_a_cause_that_tells_its_origin_already_does_not_tell_it_twice(clock):
    async def child(ctx):
        ctx.ready()
        try:
            raise OSError("no\n  disc")
        except OSError as error:
            raise RuntimeError("cannot open: OSError: no disc") from error

    root = Supervisor(SupervisorSpec(children=(ChildSpec("a", child),), intensity=0), clock=clock)
    await root.start()
    assert "it began with" not in str(await root.wait())
