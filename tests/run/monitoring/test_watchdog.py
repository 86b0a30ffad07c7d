"""A loop that does not answer is found out; a process that was stopped, or a machine that slept, is not."""

import asyncio
import sys
import threading

import pytest

from selfplay.checkpoint import RunDir
from selfplay.run.monitoring import watchdog
from selfplay.run.monitoring.crash_file import read_crashes
from selfplay.run.monitoring.watchdog import BLOCKED, Silence, Watchdog, place_of
from tests.support.processes import LIMIT_S


class Loop:
    """Answers when it is told to."""

    def __init__(self):
        self.asked = []

    def call_soon_threadsafe(self, callback):
        self.asked.append(callback)

    def turn(self):
        while self.asked:
            self.asked.pop()()


def test_a_loop_that_answers_is_never_silent():
    loop = Loop()
    silence = Silence(loop, 3)
    for _ in range(20):
        assert not silence.look()
        loop.turn()


def test_so_many_looks_without_an_answer_are_too_many():
    loop = Loop()
    silence = Silence(loop, 3)
    assert [silence.look() for _ in range(5)] == [False, False, False, True, True]
    assert len(loop.asked) == 1  # a loop that is blocked is not given more and more to do


def test_an_answer_just_in_time_begins_the_count_anew():
    loop = Loop()
    silence = Silence(loop, 3)
    for _ in range(5):
        assert [silence.look() for _ in range(3)] == [False] * 3
        loop.turn()


def test_time_that_passes_without_a_look_counts_for_nothing():
    """SIGSTOP and sleep stop the thread that looks, too: however long, it is one look at most."""
    loop = Loop()
    silence = Silence(loop, 3)
    for _ in range(5):
        assert not silence.look()
        # hours go by here
        assert not silence.look()
        loop.turn()


def test_looks_are_even_and_make_up_the_time_limit():
    waits = []

    class Done(threading.Event):
        def wait(self, timeout=None):
            waits.append(timeout)
            return len(waits) > 3

    for timeout_s in (0.5, 10, 60, 3600):
        waits.clear()
        dog = Watchdog(Loop(), timeout_s, RunDir("run"))
        dog._done = Done()
        dog._watch()
        assert len(set(waits)) == 1
        assert waits[0] <= 1.0
        assert timeout_s / waits[0] == pytest.approx(dog._silence.looks)
        assert dog._silence.looks >= 20


def test_a_limit_of_0_watches_nobody():
    with Watchdog(Loop(), 0, RunDir("run")):
        assert not any(thread.name == "watchdog" for thread in threading.enumerate())


def test_a_loop_that_is_closed_ends_the_watch(tmp_path):
    loop = asyncio.new_event_loop()
    loop.close()
    with Watchdog(loop, 0.1, RunDir(tmp_path)) as dog:
        dog._thread.join(LIMIT_S)
        assert not dog._thread.is_alive()


@pytest.mark.blocking("a watchdog is there for that")
@pytest.mark.parametrize("disk", ["works", "is full"])
def test_it_says_what_blocks_and_ends_the_process(tmp_path, monkeypatch, capsys, disk):
    freed, codes = threading.Event(), []
    monkeypatch.setattr(watchdog.os, "_exit", lambda code: codes.append(code) or freed.set())
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    run = RunDir(tmp_path if disk == "works" else tmp_path / "nowhere")

    async def blocks():
        with Watchdog(asyncio.get_running_loop(), 0.5, run):
            await asyncio.sleep(0)
            freed.wait()  # a line that tells hunter2hunter2

    asyncio.run(blocks())
    assert codes == [BLOCKED]
    told = capsys.readouterr().err
    assert "The event loop was blocked for 0.5 s by Condition.wait (threading.py, line " in told
    assert "called by test_it_says_what_blocks_and_ends_the_process.<locals>.blocks (tests/run/monitoring" in told
    if disk == "works":
        stacks = run.stacks.read_text()
        assert stacks.startswith("The event loop was blocked for 0.5 s by ")
        assert "in blocks" in stacks
        assert "in _watch" in stacks  # all threads
        ((crash,), unreadable) = read_crashes(run.crashes, 9)
        assert (crash.kind, crash.id, unreadable) == ("blocked", "event loop", 0)
        assert "freed.wait()  # a line that tells ***\n" in crash.traceback
        assert "hunter2" not in run.crashes.read_text() + stacks + told


def test_a_loop_that_runs_nothing_of_ours_is_named_by_who_runs_it():
    found = []

    async def main():
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: found.append(place_of(sys._getframe().f_back)))
        await asyncio.sleep(0)

    asyncio.run(main())
    (place,) = found
    assert place.startswith(
        "test_a_loop_that_runs_nothing_of_ours_is_named_by_who_runs_it (tests/run/monitoring/test_watchdog.py, line "
    )
