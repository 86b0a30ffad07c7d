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

from selfplay.supervision.child import KILL_GRACE_S as KILL_GRACE_S
from selfplay.supervision.child import Context as Context
from selfplay.supervision.clock import Clock as Clock
from selfplay.supervision.clock import MonotonicClock as MonotonicClock
from selfplay.supervision.clock import Timer as Timer
from selfplay.supervision.clock import sleep as sleep
from selfplay.supervision.errors import AlreadyPresentError as AlreadyPresentError
from selfplay.supervision.errors import AlreadyStartedError as AlreadyStartedError
from selfplay.supervision.errors import ChildError as ChildError
from selfplay.supervision.errors import GaveUpError as GaveUpError
from selfplay.supervision.errors import Ignore as Ignore
from selfplay.supervision.errors import NotFoundError as NotFoundError
from selfplay.supervision.errors import NotRunningError as NotRunningError
from selfplay.supervision.errors import Refuse as Refuse
from selfplay.supervision.errors import RestartingError as RestartingError
from selfplay.supervision.errors import RunningError as RunningError
from selfplay.supervision.errors import Shutdown as Shutdown
from selfplay.supervision.errors import SpecError as SpecError
from selfplay.supervision.errors import StartError as StartError
from selfplay.supervision.errors import SupervisionError as SupervisionError
from selfplay.supervision.exits import NORMAL as NORMAL
from selfplay.supervision.exits import SHUTDOWN as SHUTDOWN
from selfplay.supervision.exits import Cause as Cause
from selfplay.supervision.exits import ChildCounts as ChildCounts
from selfplay.supervision.exits import ChildInfo as ChildInfo
from selfplay.supervision.exits import ChildRef as ChildRef
from selfplay.supervision.exits import ExitReason as ExitReason
from selfplay.supervision.node import Node as Node
from selfplay.supervision.node import running as running
from selfplay.supervision.pool import Pool as Pool
from selfplay.supervision.reports import ChildAbandoned as ChildAbandoned
from selfplay.supervision.reports import ChildExited as ChildExited
from selfplay.supervision.reports import ChildIgnored as ChildIgnored
from selfplay.supervision.reports import ChildParked as ChildParked
from selfplay.supervision.reports import ChildStarted as ChildStarted
from selfplay.supervision.reports import ChildStartFailed as ChildStartFailed
from selfplay.supervision.reports import Report as Report
from selfplay.supervision.reports import SupervisorEnded as SupervisorEnded
from selfplay.supervision.reports import SupervisorGaveUp as SupervisorGaveUp
from selfplay.supervision.reports import SupervisorStarted as SupervisorStarted
from selfplay.supervision.reports import SupervisorStartFailed as SupervisorStartFailed
from selfplay.supervision.reports import SupervisorStarting as SupervisorStarting
from selfplay.supervision.spec import ChildSpec as ChildSpec
from selfplay.supervision.spec import ParkPolicy as ParkPolicy
from selfplay.supervision.spec import PoolSpec as PoolSpec
from selfplay.supervision.spec import SupervisorSpec as SupervisorSpec
from selfplay.supervision.supervisor import Supervisor as Supervisor
from selfplay.supervision.tasks import run as run
from selfplay.supervision.tasks import wait_any as wait_any
from selfplay.supervision.tree import hanging as hanging
from selfplay.supervision.tree import walk_tree as walk_tree
