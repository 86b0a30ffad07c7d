"""One run from its first line to its last: documents, event loop, signals, summary."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from selfplay import supervision
from selfplay.errors import SelfPlayError, boundary
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.ledger import read_games
from selfplay.league.render import terminal_width, to_text
from selfplay.machine import processor, usable_cores
from selfplay.report.reporter import Feed
from selfplay.report.trackers.find import make_trackers
from selfplay.report.trackers.tracker import TrackedRun
from selfplay.report.trackers.tracking import Tracking
from selfplay.run.disk import SUMMARY
from selfplay.run.monitoring.abandoned_limit import AbandonedLimit
from selfplay.run.monitoring.crash_log import CrashLog
from selfplay.run.monitoring.secrets import without_secrets
from selfplay.run.monitoring.watchdog import Watchdog
from selfplay.run.stopping import Stop
from selfplay.run.tree import Tree
from selfplay.runner.worker import Worker
from selfplay.verbs import quoted, respelled

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.base import SelfPlaySettings
    from selfplay.report.reporter import Reporter
    from selfplay.run.progress import Progress
    from selfplay.run.training import RunSession, Settings, Training

FORMAT: Final = 1
IDENTITY: Final = re.compile("[0-9a-f]{12}")
INTERRUPTED: Final = 128 + signal.SIGINT  # exit code of a run that Ctrl-C ended
TERMINATED: Final = 128 + signal.SIGTERM
DISK_S: Final = 1.0  # timeout of the second signal for the name of the last checkpoint


Limit = TypeVar("Limit", int, float)
MakeFamily = Callable[[Feed, Stop], "Training[Any, Any]"]


def run_to_end(
    session: RunSession, make: MakeFamily, reporter: Reporter, header: Iterable[str], notices: Iterable[str] = ()
) -> int:
    """Run the event loop, in which ``make`` is called, until the run has ended; the exit code."""
    identity = _identity(session.run)
    session.run.write_run(_run_document(session, identity))
    tracking = Tracking(make_trackers(session.config.run.report_to))
    feed = Feed(reporter, tracking=tracking)
    feed.header(tuple(map(without_secrets, header)))
    for line in (*notices, *(session.resumed.skipped if session.resumed else ())):
        feed.notice(line)
    resumed_at = session.resumed.meta.total_steps if session.resumed else None
    tracking.begin(TrackedRun(identity, session.run.path, _shown(session.config), resumed_at), feed.notice)
    return supervision.run(_run(session, make, feed))


async def _run(session: RunSession, make: MakeFamily, feed: Feed) -> int:
    run, guard = session.run, session.config.guard
    stop, ended = Stop(), "failed"
    try:
        training = make(feed, stop)
        tree = Tree(training, stop)
        stop.listeners.append(tree.root.leave_park)  # a learner that is parked ends in order only once it runs again
        crash_log = CrashLog(run, tree.root, feed.notice)
        limit = AbandonedLimit(guard.max_abandoned, tree.root, stop, feed.notice)
        tree.announcer.listeners += [crash_log.on_report, limit.on_report]
        with signals(stop, feed, run) as signalled, Watchdog(asyncio.get_running_loop(), guard.loop_timeout, run):
            try:
                await _to_its_end(tree, stop)
                code = signalled()
                for error in (limit.error, tree.overtime.error):
                    if error is not None:
                        raise error
                ended = "interrupted" if code else "finished"
            except SelfPlayError as error:
                ended = f"failed: {error}"
                raise
            finally:
                tree.overtime.close()
                await crash_log.close(ended)
        return code
    finally:
        try:
            await _finish_tracking(feed)
        finally:
            await feed.finish()


async def _finish_tracking(feed: Feed) -> None:
    if feed.tracking:
        worker = Worker("tracking")
        try:
            await worker.submit(feed.tracking.finish)
        finally:
            worker.close()


async def _to_its_end(tree: Tree, stop: Stop) -> None:
    started = time.monotonic()
    with boundary(SelfPlayError, "the run could not start"):
        try:
            await tree.root.start()
        except supervision.StartError:
            if not stop.is_set() or tree.loop.has_begun:
                raise
            tree.training.feed.notice("Stopped before the first iteration")
            return
    reason = await tree.root.wait()
    if reason.cause is not None and reason.cause.fatal:
        raise SelfPlayError(
            f"the run ended, since memory ran out: {reason.cause}; see what else uses memory, or start a run with a "
            "lower --num-games or --rollout-length"
        )
    if reason.cause is not None or not reason.clean:  # the root itself gave up: what it restarted is no failure
        raise SelfPlayError(f"the run failed: {reason.cause or reason.message}")
    if tree.loop.refused is not None:
        raise tree.loop.refused
    with boundary(SelfPlayError, "the run has ended, and its summary cannot be made"):
        worker = Worker("summary")
    try:
        await worker.submit(_finish, tree, time.monotonic() - started)
    finally:
        worker.close()


def _identity(run: RunDir) -> str:
    """The id of the run for trackers: that of its earlier sessions, or a new one."""
    found = run.read_run().get("run_id") if run.holds_run() else None
    return found if isinstance(found, str) and IDENTITY.fullmatch(found) else uuid.uuid4().hex[:12]


def _shown(config: Settings) -> dict[str, Any]:
    """The settings as trackers get them, without secrets."""
    found: dict[str, Any] = _hidden(config.model_dump(mode="json"))
    return found


def _hidden(value: Any) -> Any:  # noqa: ANN401
    match value:
        case str():
            return without_secrets(value)
        case dict():
            return {key: _hidden(part) for key, part in value.items()}
        case list():
            return [_hidden(part) for part in value]
    return value


def _run_document(session: RunSession, identity: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "run_id": identity,
        "started": datetime.now(UTC).isoformat(),
        "config": session.config.model_dump(mode="json"),
        "device": session.device,
        "processor": processor(),
        "cores": usable_cores(),
        "versions": {name: version(name) for name in session.packages},
        **session.document,
    }


def _finish(tree: Tree, seconds: float) -> None:
    """The leaderboard, the summary, and what to do next; DiskError where something is not saved."""
    training, disk = tree.training, tree.loop.disk
    run, feed, progress = training.run, training.feed, training.progress
    board: Leaderboard | None = None
    if tree.rating_games is not None and run.ledger.exists():
        games = read_games(run.ledger)
        board = build(games, run=run.path) if len(games) else None
    found = training.summary()
    with disk.tolerate(SUMMARY, ""):
        run.write_summary(
            {
                "finished": progress.finished and not disk.missing,
                "iteration": progress.iteration,
                "total_steps": progress.total_steps,
                "elapsed_s": round(progress.elapsed_s, 3),
                "session_s": round(seconds, 3),
                "newest": progress.newest,
                "restarts": progress.restarts,
                "abandoned": Worker.abandoned,
                "chaos": progress.chaos.document() or None,
                "ended": datetime.now(UTC).isoformat(),
                "health": [asdict(finding) for finding in (*progress.health.findings(), *disk.findings())],
                "leaderboard": board.model_dump(mode="json") if board else None,
                **found,
            }
        )
    if board is not None:
        feed.leaderboard(to_text(board, width=terminal_width()))
    elif tree.rating_games is not None:
        feed.notice("No rating game was played: there is no leaderboard")
    feed.notice(
        f"{progress.how_it_ended(whole=not disk.missing)} after {progress.iteration} iterations, {training.played()}, "
        f"{progress.elapsed_s:.0f} s; the run is in {run.path}"
    )
    steps = [respelled(line) for line in training.next_steps()]
    for line in (*progress.chaos.lines(), *(["What next:", *steps] if steps else [])):
        feed.notice(line)
    if training.failure is not None:
        raise training.failure
    disk.refuse_to_end(progress.saved)


def flags_to_continue(run: SelfPlaySettings, progress: Progress) -> str:
    """Flags for a run to continue: none where its planned end is ahead, else an end further away."""
    steps, minutes, flags = run.timesteps, run.max_minutes, ""
    over = minutes is not None and progress.elapsed_s >= 60 * minutes
    if not progress.finished and not over:
        return ""
    if steps is not None and progress.finished:
        flags += f" --timesteps {doubled_past(steps, progress.total_steps)}"
    if minutes is not None:
        flags += f" --max-minutes {doubled_past(minutes, progress.elapsed_s / 60):g}"
    return flags


def doubled_past(limit: Limit, reached: float) -> Limit:
    """The limit, doubled until what was reached lies below it."""
    while limit <= reached:
        limit *= 2
    return limit


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

    with _handled(on_signal):
        yield lambda: first


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
    with _handled(on_signal):
        yield seen


@contextmanager
def _handled(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call ``on_signal`` for SIGINT and SIGTERM inside the block."""
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
