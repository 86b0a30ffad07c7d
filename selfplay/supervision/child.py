"""One incarnation of a child: its task, and how to end it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from selfplay.supervision import exits
from selfplay.supervision.clock import Deadline
from selfplay.supervision.errors import Ignore, SupervisionError
from selfplay.supervision.tasks import spawn, wait_any

if TYPE_CHECKING:
    from selfplay.supervision.clock import Clock
    from selfplay.supervision.exits import ChildRef, ExitReason
    from selfplay.supervision.spec import ChildSpec

KILL_GRACE_S = 2.0  # from a kill to abandoning the child
Body: TypeAlias = Callable[["Context"], Awaitable["ExitReason"]]
logger = logging.getLogger(__name__)


class Context:
    """The argument of a child function. `prove` and `on_kill` are thread-safe; call `ready` on the event loop."""

    __slots__ = ("_kills", "_on_ready", "_proven", "_ready", "_thread", "clock", "id", "incarnation")

    def __init__(self, ref: ChildRef, clock: Clock, on_ready: Callable[[], None]) -> None:
        self.id = ref.id  # id of the child's specification
        self.incarnation = ref.incarnation  # number of attempts to start this id in the tree, including this one
        self.clock = clock  # the tree's clock; use `clock.sleep(ctx.clock, seconds)` to wait
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_ready = on_ready
        self._kills: list[Callable[[], None]] = []
        self._proven = False
        self._thread = threading.get_ident()

    @property
    def is_ready(self) -> bool:
        return self._ready.done()

    def ready(self) -> None:
        """Marks the child as started. Has no effect if it is called again, or after a request to end."""
        if threading.get_ident() != self._thread:
            raise SupervisionError(f"{self.id}: in a thread, use loop.call_soon_threadsafe(ctx.ready)")
        self._on_ready()

    def prove(self) -> None:
        """Marks the child's work as done: with a `ParkPolicy`, earlier failures are forgiven."""
        self._proven = True

    def on_kill(self, kill: Callable[[], None]) -> None:
        """Registers a function that forcibly ends this incarnation, such as `killpg`. It must not block."""
        self._kills.append(kill)


class Watcher(Protocol):
    """Receives the events of a child."""

    def child_started(self, child: Child) -> None: ...

    def child_ended(self, child: Child) -> None:
        """The child's task is done; `child.reason` is set."""

    def child_abandoned(self, child: Child) -> None:
        """The child did not end in time and was abandoned."""


class Child:
    """A running or ended incarnation; compared by identity.

    Attributes:
        task: never raises; its end is the end of the incarnation.
        ignored: it declined to start.
        asked: its supervisor has requested its end. An end without a request is a crash.
        abandoned: it did not end in time and is no longer waited for.
    """

    def __init__(
        self,
        spec: ChildSpec,
        ref: ChildRef,
        restarts: int,
        clock: Clock,
        watcher: Watcher,
        body: Body,
        ask: Callable[[], None] | None = None,
    ) -> None:
        self.spec = spec
        self.ref = ref
        self.restarts = restarts  # number of earlier restarts of the child
        self.reason: ExitReason | None = None  # how it ended; None while it runs
        self.ignored = self.asked = self.killed = self.abandoned = False
        self.began = clock.time()  # start time by the tree's clock
        self.ended: float | None = None  # end time; None while it runs
        self.down_since: float | None = None  # end time of the previous incarnation; None for the first
        self._clock = clock
        self._watcher = watcher
        self._ask = ask
        self._doom: Deadline | None = None
        self._context = Context(ref, clock, self._started)
        self.task = spawn(self._run(body), f"{spec.kind} {ref.id}#{ref.incarnation}")
        self.task.add_done_callback(self._ended)

    @property
    def ready(self) -> asyncio.Future[None]:
        """Done once the child has called `ctx.ready()`."""
        return self._context._ready

    @property
    def started(self) -> bool:
        return self.ready.done()

    @property
    def proven(self) -> bool:
        return self._context._proven

    @property
    def lived_s(self) -> float:
        return self._clock.time() - self.began

    @property
    def down_s(self) -> float | None:
        """Seconds since the end of the previous incarnation; None for the first."""
        return None if self.down_since is None else self._clock.time() - self.down_since

    async def stop(self) -> None:
        """Ends the incarnation by its specification; returns when it has ended or was abandoned.

        The child is asked to end, killed after its grace period, and abandoned if it still runs.
        """
        if self.task.done():
            return
        grace = self.spec.grace
        if not isinstance(grace, str):
            self.ask()
            await wait_any(self._clock, [self.task], grace)
            if self.task.done():
                return
        self.asked = True
        self.kill()
        if isinstance(grace, str) or self._can_be_killed:
            await wait_any(self._clock, [self.task], KILL_GRACE_S)
        if not self.task.done():
            self._abandon()

    def ask(self) -> None:
        """Requests the end: a worker is cancelled, a supervisor gets a message."""
        self.asked = True
        if self._ask is None:
            self.task.cancel("shutdown")
        else:
            self._ask()

    def kill(self) -> None:
        """Ends the child without a grace period: runs the kill hooks, then cancels it."""
        self.killed = True
        self._run_kill_hooks()
        self.task.cancel("killed")

    def orphan(self) -> None:
        """Ends the child after its supervisor was killed: first a request, later a kill, then it is abandoned.

        A supervisor stops its own children in order, as in OTP when the supervisor above it is killed.
        """
        self.asked = self.killed = True
        self._doom = Deadline(self._clock, KILL_GRACE_S, self._finish_off)
        if self._ask is None:
            self.task.cancel("killed")
        else:
            self._ask()

    @property
    def _can_be_killed(self) -> bool:
        return self._ask is not None or self.spec.kill is not None or bool(self._context._kills)

    async def _run(self, body: Body) -> None:
        try:
            self.reason = await body(self._context)
        except BaseException as error:  # every end becomes a reason, SystemExit included
            self.ignored = isinstance(error, Ignore) and not self.started
            self.reason = exits.reason_of(error, asked=self.asked, killed=self.killed)

    def _started(self) -> None:
        if not self.started and not self.asked:  # an aborted start has failed, even if the child becomes ready later
            self.ready.set_result(None)
            self._watcher.child_started(self)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.ended = self._clock.time()
        if self.reason is None:  # the body never ran
            cancelled = asyncio.CancelledError("cancelled before its first step")
            self.reason = exits.reason_of(cancelled, asked=self.asked, killed=self.killed)
        if self._doom is not None:
            self._doom.cancel()
        self._watcher.child_ended(self)

    def _finish_off(self) -> None:
        self.kill()
        if self._can_be_killed:
            self._doom = Deadline(self._clock, KILL_GRACE_S, self._abandon)
        else:
            self._abandon()

    def _abandon(self) -> None:
        self.abandoned = True
        self._watcher.child_abandoned(self)

    def _run_kill_hooks(self) -> None:
        hooks = [*self._context._kills, *([self.spec.kill] if self.spec.kill else [])]
        for hook in hooks:
            try:
                hook()
            except BaseException:
                logger.exception("the kill hook of %s failed", self.ref)
