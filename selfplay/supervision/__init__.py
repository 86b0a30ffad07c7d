"""Supervision: Erlang/OTP's supervisors on asyncio, with nothing but the standard library.

A *child* is one coroutine function. It opens what it needs, says that it is ready, and works until it is cancelled::

    async def game_runner(ctx: Context) -> None:
        host = await open_host()            # raise Refuse(why) to refuse the start, Ignore() to decline it
        ctx.on_kill(host.kill_process_group)  # optional: a true kill for brutal_kill and for a missed deadline
        ctx.ready()                         # from here on the child counts as started
        try:
            while True:
                await play_segment(host, seed=(ctx.id, ctx.incarnation))
        finally:
            await host.close()              # runs on cancellation, within the child's `shutdown` seconds

How it ends decides what happens: return = normal, ``raise Shutdown(x)`` = shutdown, cancelled on the supervisor's
request = stopped; anything else, SystemExit and an unasked CancelledError included, is a crash. A *tree* is a value::

    root = Supervisor(
        SupervisorSpec(
            strategy="rest_for_one",
            intensity=3,
            period_s=5.0,
            children=(
                ChildSpec("league", league),
                ChildSpec("runners", PoolSpec(intensity=16, park=ParkPolicy())),
                ChildSpec("learner", learner, restart="transient", shutdown_s=30.0),
            ),
        ),
        on_report=print,                    # structured reports: frozen dataclasses, see reports.py
    )
    async with running(root):               # or: await root.start(); await root.stop(); reason = await root.wait()
        pool = root.find("runners", Pool)   # the pool that runs now; a restarted pool is another object
        ref = await pool.start_child(ChildSpec("runner-000", game_runner))
        pool.which_children()               # ChildInfo(id, ref, state, kind, restarts), never blocks
        pool.count_children()               # ChildCounts(specs, active, supervisors, workers)
        await pool.terminate_child("runner-000")  # by id (all of that id) or by ChildRef
        reason = await root.wait()          # ExitReason; the tree ended by itself

``root.kill()`` ends the tree at once and without order. `docs/supervision.md` has the table against OTP.
"""

from selfplay.supervision.child import KILL_GRACE_S, Context
from selfplay.supervision.clock import Clock, MonotonicClock, Timer, sleep
from selfplay.supervision.errors import (
    AlreadyPresentError,
    AlreadyStartedError,
    ChildError,
    GaveUpError,
    Ignore,
    MaxChildrenError,
    NotFoundError,
    NotRunningError,
    Refuse,
    RestartingError,
    RunningError,
    Shutdown,
    SpecError,
    StartError,
    SupervisionError,
)
from selfplay.supervision.exits import NORMAL, SHUTDOWN, Cause, ChildCounts, ChildInfo, ChildRef, ExitReason, Origin
from selfplay.supervision.family import family
from selfplay.supervision.node import running
from selfplay.supervision.pool import Pool
from selfplay.supervision.reports import (
    ChildAbandoned,
    ChildExited,
    ChildIgnored,
    ChildParked,
    ChildStarted,
    ChildStartFailed,
    Report,
    SupervisorEnded,
    SupervisorGaveUp,
    SupervisorStarted,
    SupervisorStartFailed,
    SupervisorStarting,
)
from selfplay.supervision.spec import ChildSpec, ParkPolicy, PoolSpec, SupervisorSpec
from selfplay.supervision.supervisor import Supervisor

__all__ = [
    "KILL_GRACE_S",
    "NORMAL",
    "SHUTDOWN",
    "AlreadyPresentError",
    "AlreadyStartedError",
    "Cause",
    "ChildAbandoned",
    "ChildCounts",
    "ChildError",
    "ChildExited",
    "ChildIgnored",
    "ChildInfo",
    "ChildParked",
    "ChildRef",
    "ChildSpec",
    "ChildStartFailed",
    "ChildStarted",
    "Clock",
    "Context",
    "ExitReason",
    "GaveUpError",
    "Ignore",
    "MaxChildrenError",
    "MonotonicClock",
    "NotFoundError",
    "NotRunningError",
    "Origin",
    "ParkPolicy",
    "Pool",
    "PoolSpec",
    "Refuse",
    "Report",
    "RestartingError",
    "RunningError",
    "Shutdown",
    "SpecError",
    "StartError",
    "SupervisionError",
    "Supervisor",
    "SupervisorEnded",
    "SupervisorGaveUp",
    "SupervisorSpec",
    "SupervisorStartFailed",
    "SupervisorStarted",
    "SupervisorStarting",
    "Timer",
    "family",
    "running",
    "sleep",
]
