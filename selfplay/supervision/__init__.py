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
Anything else is a crash, including SystemExit and any other CancelledError. A tree is described by values
(`SupervisorSpec`, `PoolSpec`, `ChildSpec`). See `docs/trainer/supervision.md` for an example, and
`docs/trainer/internals/supervision.md` for the comparison with OTP.
"""

from selfplay.supervision.child import KILL_GRACE_S, Context
from selfplay.supervision.clock import Clock, MonotonicClock, Timer, sleep
from selfplay.supervision.errors import (
    AlreadyPresentError,
    AlreadyStartedError,
    ChildError,
    GaveUpError,
    Ignore,
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
from selfplay.supervision.exits import NORMAL, SHUTDOWN, Cause, ChildCounts, ChildInfo, ChildRef, ExitReason
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
from selfplay.supervision.tree import hanging, walk_tree

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
    "MonotonicClock",
    "Node",
    "NotFoundError",
    "NotRunningError",
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
