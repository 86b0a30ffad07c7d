"""One incarnation of a child: its task, and the ways to end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from selfplay.supervision import exits
from selfplay.supervision.errors import Ignore
from selfplay.supervision.tasks import spawn, wait_any

if TYPE_CHECKING:
    from selfplay.supervision.clock import Clock, Timer
    from selfplay.supervision.exits import ChildRef, ExitReason
    from selfplay.supervision.spec import ChildSpec

KILL_GRACE_S = 2.0  # from a kill to giving a child up: SIGKILL needs a moment to be noticed, cleaning up does too
Body: TypeAlias = Callable[["Context"], Awaitable["ExitReason"]]
logger = logging.getLogger(__name__)


class Context:
    """What a child is given.

    Attributes:
        id: the id of its specification.
        incarnation: how many attempts to start this id there have been in the tree, this one included.
        clock: the tree's clock; wait with `clock.sleep(ctx.clock, seconds)` where tests should not.
    """

    __slots__ = ("_kills", "_proven", "_ready", "clock", "id", "incarnation")

    def __init__(self, ref: ChildRef, clock: Clock) -> None:
        self.id = ref.id
        self.incarnation = ref.incarnation
        self.clock = clock
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._kills: list[Callable[[], None]] = []
        self._proven = False

    @property
    def is_ready(self) -> bool:
        """Whether the child has said so."""
        return self._ready.done()

    def ready(self) -> None:
        """Declares the child started; a second call does nothing."""
        if not self._ready.done():
            self._ready.set_result(None)

    def prove(self) -> None:
        """Declares that the child has done what it is there for: in a pool, failures before this are forgiven."""
        self._proven = True

    def on_kill(self, kill: Callable[[], None]) -> None:
        """Registers what truly ends this incarnation, such as killing its process group. Must not block."""
        self._kills.append(kill)


class Watcher(Protocol):
    """Who hears of a child's end."""

    def child_ended(self, child: Child) -> None:
        """The child's task is done, and `child.reason` says how."""

    def child_abandoned(self, child: Child) -> None:
        """The child's task goes on, but nobody waits for it any more."""


class Child:
    """A running (or ended) incarnation; compared by identity, so nobody takes an old one for the new one.

    Attributes:
        ref: its name.
        spec: what it was made from.
        restarts: how often the child had been restarted before.
        task: never raises; its end is the incarnation's end.
        reason: how it ended; None while it lives.
        ignored: it declined to start.
        asked: its own supervisor wants it to end; whoever else kills it makes it crash.
        abandoned: it did not, and nobody waits for it any more.
        began: when its task was made, by the tree's clock.
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
        self.restarts = restarts
        self.reason: ExitReason | None = None
        self.ignored = self.asked = self.killed = self.abandoned = False
        self.began = clock.time()
        self._clock = clock
        self._watcher = watcher
        self._ask = ask
        self._doom: Timer | None = None
        self._context = Context(ref, clock)
        self.task = spawn(self._run(body), f"{spec.kind} {ref.id}#{ref.incarnation}")
        self.task.add_done_callback(self._ended)

    @property
    def ready(self) -> asyncio.Future[None]:
        """Done once the child has called `ctx.ready()`."""
        return self._context._ready

    @property
    def started(self) -> bool:
        """Whether the child ever became ready."""
        return self.ready.done()

    @property
    def proven(self) -> bool:
        """Whether the child has called `ctx.prove()`."""
        return self._context._proven

    @property
    def lived_s(self) -> float:
        """Seconds since its task was made."""
        return self._clock.time() - self.began

    async def stop(self) -> None:
        """Ends the incarnation as its specification says, and returns when it ended or was abandoned.

        It is asked, has its grace, is then killed where that is possible, and abandoned where it is not.
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
        """Asks the child to end: a worker by cancellation, a supervisor by a message."""
        self.asked = True
        if self._ask is None:
            self.task.cancel("shutdown")
        else:
            self._ask()

    def kill(self) -> None:
        """Ends the child without asking, as far as that is possible: kill hooks first, then cancellation."""
        self.killed = True
        self._run_kill_hooks()
        self.task.cancel("killed")

    def orphan(self) -> None:
        """Lets the child follow its killed supervisor: told at once, killed and given up later if it lives on.

        A supervisor stops its own children in order, as an OTP supervisor does when the one above it is killed.
        """
        self.asked = self.killed = True
        self._doom = self._clock.call_later(KILL_GRACE_S, self._finish_off)
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
        except BaseException as error:  # whatever ends a child is data here, SystemExit too
            self.ignored = isinstance(error, Ignore) and not self.started
            self.reason = exits.reason_of(error, asked=self.asked, killed=self.killed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self.reason is None:  # cancelled before its first step: the body never ran
            cancelled = asyncio.CancelledError("cancelled before its first step")
            self.reason = exits.reason_of(cancelled, asked=self.asked, killed=self.killed)
        if self._doom is not None:
            self._doom.cancel()
        self._watcher.child_ended(self)

    def _finish_off(self) -> None:
        self.kill()
        if self._can_be_killed:
            self._doom = self._clock.call_later(KILL_GRACE_S, self._abandon)
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
            except Exception:
                logger.exception("the kill hook of %s failed", self.ref)
