"""Run the supervision tree to its end; handle signals and early exits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from selfplay.errors import SelfPlayError, boundary
from selfplay.train.monitoring.abandoned_limit import AbandonedLimit
from selfplay.train.monitoring.crash_log import CrashLog
from selfplay.train.monitoring.watchdog import Watchdog
from selfplay.verbs import quoted

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.base import GuardConfig
    from selfplay.report.reporter import Feed
    from selfplay.train.tree import Tree

INTERRUPTED: Final = 128 + signal.SIGINT  # exit code of a run that Ctrl-C ended
TERMINATED: Final = 128 + signal.SIGTERM
DISK_S: Final = 1.0  # timeout of the second signal for the name of the last checkpoint


class Stop(asyncio.Event):
    """Set when a run is to end in order; ``listeners`` are called then."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Callable[[], object]] = []

    def set(self) -> None:
        super().set()
        for listener in self.listeners:
            listener()


async def run_tree(
    make: Callable[[Stop], Tree], feed: Feed, finish: Callable[[Tree, float], object], run: RunDir, guard: GuardConfig
) -> int:
    """Run a tree to its end; the exit code. The feed is left open.

    Args:
        make: Gives the tree, which ends its work when the event is set.
        feed: Receives notices of signals.
        finish: Says how it was, with the seconds that it took, or raises what the run ends with; blocks. Not called
            where supervision gave up.
        run: Where the tree's history is written.
        guard: When to end a run that cannot go on.

    Raises:
        SelfPlayError: the run failed; names the first cause.
    """
    stop = Stop()
    tree = make(stop)
    stop.listeners.append(tree.root.leave_park)  # a learner that is parked ends in order only once it runs again
    crash_log = CrashLog(run, tree.root, feed.notice)
    limit = AbandonedLimit(guard.max_abandoned, tree.root, stop, feed.notice)
    tree.announcer.listeners += [crash_log.on_report, limit.on_report]
    ended = "failed"
    with signals(stop, feed, run) as signalled, Watchdog(asyncio.get_running_loop(), guard.loop_timeout, run):
        try:
            await _to_its_end(tree, finish)
            code = signalled()
            if limit.error is not None:
                raise limit.error
            ended = "interrupted" if code else "finished"
        except SelfPlayError as error:
            ended = f"failed: {error}"
            raise
        finally:
            await crash_log.close(ended)
    return code


async def _to_its_end(tree: Tree, finish: Callable[[Tree, float], object]) -> None:
    started = time.monotonic()
    with boundary(SelfPlayError, "the run could not start"):
        await tree.root.start()
    reason = await tree.root.wait()
    if reason.cause is not None and reason.cause.fatal:
        raise SelfPlayError(
            f"the run ended, since memory ran out: {reason.cause}; see what else uses memory, or start a run with a "
            "lower --num-games or --rollout-length"
        )
    if reason.cause is not None or not reason.clean:  # the root itself gave up: what it restarted is no failure
        raise SelfPlayError(f"the run failed: {reason.cause or reason.message}")
    await asyncio.to_thread(finish, tree, time.monotonic() - started)


@contextmanager
def signals(stop: asyncio.Event, feed: Feed, run: RunDir) -> Iterator[Callable[[], int]]:
    """First SIGINT or SIGTERM: end after this iteration, saved. Second: at once, although the loop may be blocked.

    The second one names the last checkpoint before the first, unless the disk hangs.

    Gives a function that says what exit code follows from the first one: 0 where there was none. Outside the main
    thread, which alone receives signals, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    loop = asyncio.get_running_loop()
    first = 0
    last: list[str] = []  # a line about the last checkpoint
    looking: list[threading.Thread] = []  # for it

    def ask() -> None:
        stop.set()
        feed.notice("Stopping after this iteration, with a checkpoint; Ctrl-C again stops at once")

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if first:
            for thread in looking:
                thread.join(DISK_S)
            sys.stderr.write("".join(last))
            os._exit(128 + number)  # processes of games end with their pipes
        else:
            first = 128 + number
            # In a thread, and now: neither the loop nor the second signal may wait long for a disk.
            thread = threading.Thread(target=lambda: last.append(f"{_last_checkpoint(run)}\n"), daemon=True)
            thread.start()
            looking.append(thread)
            loop.call_soon_threadsafe(ask)  # here the loop may be in the middle of anything

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: first
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _last_checkpoint(run: RunDir) -> str:
    states = sorted(run.learner.glob("iter_*"), key=lambda path: path.stat().st_mtime_ns)
    if not states:
        return f"Stopped at once, before the first checkpoint of {run.path}"
    return f"Stopped at once; the last checkpoint is {states[-1]}: --resume --checkpoint {quoted(run.path)} continues"


@contextmanager
def stop_signal() -> Iterator[list[int]]:
    """A list that gets the number of the first SIGINT or SIGTERM; a second one raises KeyboardInterrupt.

    Without an event loop. Only the main thread of a program receives signals: elsewhere the list stays empty.
    """
    seen: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
