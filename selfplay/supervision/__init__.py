"""Erlang/OTP supervisors on asyncio, with the standard library only.

A *child* is a coroutine function. It opens its resources, calls `ctx.ready()`, and works until it is cancelled::

    async def game_runner(ctx: Context) -> None:
        host = await open_host()            # raise Refuse(why) if the start fails, Ignore() to decline it
        ctx.on_kill(host.kill_process_group)  # optional: called for brutal_kill and after a missed deadline
        ctx.ready()                         # from here on the child counts as started
        try:
            while True:
                await play_segment(host, seed=(ctx.id, ctx.incarnation))
        finally:
            await host.close()              # runs on cancellation, within the child's `shutdown` seconds

Exit reasons: return = normal, ``raise Shutdown(x)`` = shutdown, cancelled on the supervisor's request = stopped.
Anything else is a crash, including SystemExit and any other CancelledError. A *tree* is described by values::

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
        pool = root.find("runners", Pool)   # the running pool; a restarted pool is a new object
        ref = await pool.start_child(ChildSpec("runner-000", game_runner))
        pool.which_children()               # ChildInfo(id, ref, state, kind, restarts), never blocks
        pool.count_children()               # ChildCounts(specs, active, supervisors, workers)
        await pool.terminate_child("runner-000")  # by id (all with that id) or by ChildRef
        reason = await root.wait()          # ExitReason

``root.kill()`` ends the tree at once. ``run(main())`` is like ``asyncio.run``, but returns even if an abandoned child
never ends. See `docs/trainer/supervision.md`, and `docs/trainer/internals/supervision.md` for the comparison with OTP.
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
from selfplay.supervision.node import Node, running
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
from selfplay.supervision.tasks import run, wait_any
from selfplay.supervision.tree import HangingChild, hanging, walk_tree

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
    "HangingChild",
    "Ignore",
    "MaxChildrenError",
    "MonotonicClock",
    "Node",
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
    "hanging",
    "run",
    "running",
    "sleep",
    "wait_any",
    "walk_tree",
]
