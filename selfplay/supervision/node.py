"""Common base of static supervisors and pools: one task with a mailbox."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypedDict, TypeVar

from selfplay.supervision import errors, reports
from selfplay.supervision.child import Child
from selfplay.supervision.exits import KILLED, SHUTDOWN, Cause, ChildCounts, ChildInfo, ChildRef, ExitReason
from selfplay.supervision.nursery import Nursery
from selfplay.supervision.park import FailureRecord, RestartIntensity
from selfplay.supervision.spec import ChildSpec, NodeSpec
from selfplay.supervision.tasks import outlast, spawn
from selfplay.supervision.tree import TreeState

if TYPE_CHECKING:
    from selfplay.supervision.child import Context, Watcher
    from selfplay.supervision.clock import Clock
    from selfplay.supervision.park import ChildSlot

T = TypeVar("T")
NodeT = TypeVar("NodeT", bound="Node")
Message: TypeAlias = Callable[[], Awaitable[None]]


class TreeOptions(TypedDict, total=False):
    """Options of a root; a nested supervisor is given its path and the tree."""

    name: str  # the root's name in paths; by default "root"
    clock: Clock | None  # monotonic time; real time by default
    on_report: Callable[[reports.Report], None] | None  # called with every report of the tree, see `reports`
    tree: TreeState  # the tree to join


class Node(ABC):
    """A supervisor. One task owns all its state and handles messages one at a time."""

    def __init__(
        self,
        spec: NodeSpec,
        *,
        name: str = "root",
        clock: Clock | None = None,
        on_report: Callable[[reports.Report], None] | None = None,
        tree: TreeState | None = None,
    ) -> None:
        self.path = name  # path in the tree, such as "root/runners"
        self.host: Child | None = None  # this supervisor as a child of the one above; None before the start
        self._node_spec = spec
        self._tree = TreeState(clock, on_report) if tree is None else tree
        self._nursery = Nursery(self.path, self._tree, self._child_exited)
        self._window = RestartIntensity(spec.intensity, spec.period_s)
        self._parked: set[FailureRecord] = set()
        self._mailbox: asyncio.Queue[Message] = asyncio.Queue()  # bounded by a few messages per child and caller
        self._callers: set[Callable[[], None]] = set()  # each raises an error in one waiting caller
        self._end: ExitReason | None = None  # reason to end, set once

    # ---- public API

    async def start(self) -> None:
        """Starts this supervisor as the root of a tree. If cancelled, it stops the started children in order.

        StartError if a child did not start; the children before it were stopped.
        """
        if self.host is not None:
            raise errors.SupervisionError(f"{self.path!r} was started before; create a new one")
        spec, ref = ChildSpec(self.path, self._node_spec), self._tree.next_ref("", self.path)
        host = self.incarnate(spec, ref, 0, _NoWatcher())
        try:
            await asyncio.wait({host.ready, host.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._stop_to_the_end()
            raise
        if not host.started and host.reason is not None:
            await self._stop_to_the_end()  # if it was killed, its children may still clean up
            raise errors.StartError(self.path, host.reason)

    async def stop(self, reason: ExitReason = SHUTDOWN) -> ExitReason:
        """Stops all children in order, then this supervisor; returns how it ended."""
        if self.host is not None:
            self.finish(reason)
        return await self.wait()

    async def _stop_to_the_end(self) -> None:
        """Stops this root; a cancellation is delayed until every child of the tree has ended or was abandoned."""

        async def stop() -> None:
            await self.stop()
            await self._tree.empty.wait()  # children of a killed supervisor may outlive it

        await outlast(spawn(stop(), f"stop {self.path}"))

    async def wait(self) -> ExitReason:
        """Waits until this supervisor ends; returns how."""
        if self.host is None:
            raise errors.NotRunningError(f"{self.path!r} was never started")
        await asyncio.wait({self.host.task})
        return self.host.reason or KILLED

    def kill(self) -> None:
        """Ends this supervisor at once, then its children. A supervisor above handles this as a crash.

        Workers are cancelled and supervisors below stop in order. After `KILL_GRACE_S` the rest is killed or abandoned.
        """
        if self.host is not None:
            self.host.kill()

    @property
    def clock(self) -> Clock:
        return self._tree.clock

    @property
    def alive(self) -> bool:
        """True if the node was started and is not ending."""
        return self.host is not None and not self.host.task.done() and self._end is None

    @property
    def abandoned(self) -> tuple[ChildRef, ...]:
        """Abandoned children of the whole tree that still run."""
        return tuple(child.ref for child in self._tree.abandoned)

    @property
    def abandoned_total(self) -> int:
        """Number of children of the whole tree that were ever abandoned."""
        return self._tree.abandoned_total

    async def start_child(self, spec: ChildSpec) -> ChildRef | None:
        """Adds a child behind the others and starts it; returns None if it declined.

        SpecError if it is significant where it cannot be, AlreadyStartedError or AlreadyPresentError if the id is taken
        (in a pool ids need not be unique), StartError if it did not start.
        """
        return await self._call(partial(self._add, spec))

    @abstractmethod
    async def _add(self, spec: ChildSpec) -> ChildRef | None: ...

    def which_children(self) -> tuple[ChildInfo, ...]:
        """The children in start order, in a pool by the start of their current incarnation; never blocks."""
        self._check_alive()
        return tuple(slot.info for slot in self._children())

    @abstractmethod
    def _children(self) -> Iterable[ChildSlot]: ...

    def count_children(self) -> ChildCounts:
        """Counts the children by kind and state; raises like `which_children`."""
        rows = self.which_children()
        supervisors = sum(row.kind == "supervisor" for row in rows)
        active = sum(row.state == "running" for row in rows)
        return ChildCounts(len(rows), active, supervisors, len(rows) - supervisors)

    def find(self, path: str, kind: type[NodeT]) -> NodeT:
        """The running supervisor at `path` below this one, such as "games/runners"."""
        head, _, rest = path.partition("/")
        for child, node in self._nursery.live.items():
            if node is not None and child.ref.id == head and child.started:
                if rest:
                    return node.find(rest, kind)
                if isinstance(node, kind):
                    return node
        raise errors.NotFoundError(path)

    # ---- the supervisor's own task

    def incarnate(self, spec: ChildSpec, ref: ChildRef, restarts: int, watcher: Watcher) -> Child:
        """Starts the task of this supervisor; called once."""
        ask = partial(self.finish, SHUTDOWN)
        self.host = Child(spec, ref, restarts, self._tree.clock, watcher, self.serve, ask)
        return self.host

    async def serve(self, context: Context) -> ExitReason:
        """Runs this supervisor in its own task; returns how it ended."""
        self._tree.report(reports.SupervisorStarting(self.path, context.incarnation))
        try:
            await self._open()
            if self._end is None:
                self._tree.report(reports.SupervisorStarted(self.path, context.incarnation))
                context.ready()
            while self._end is None:
                await self._handle_next()
            await self._close()
        except GeneratorExit:  # the event loop is gone
            raise
        except BaseException as error:
            self._nursery.orphan_all()
            if not isinstance(error, asyncio.CancelledError):
                raise
            self._end = KILLED
        finally:
            for fail in list(self._callers):
                fail()
        ended = reports.SupervisorEnded if context.is_ready else reports.SupervisorStartFailed
        self._tree.report(ended(self.path, context.incarnation, self._end))
        return self._end

    def finish(self, reason: ExitReason) -> None:
        """Ends this supervisor before its next message; aborts a start in progress."""
        if self._end is None:
            self._end = reason
            self._nursery.close()
            self._post(_nothing)

    async def _handle_next(self) -> None:
        handle = await self._mailbox.get()
        if self._end is None:
            await handle()
            await asyncio.sleep(0)  # let other tasks run between messages

    @abstractmethod
    async def _open(self) -> None:
        """Starts the initial children; finishes this supervisor if one fails."""

    @abstractmethod
    async def _close(self) -> None:
        """Stops all children."""

    @abstractmethod
    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        """Handles the end of a started child that was not requested."""

    def _child_exited(self, child: Child, reason: ExitReason) -> None:
        self._post(partial(self._on_exit, child, reason))

    def _cause(self, child: ChildRef, reason: ExitReason) -> Cause:
        """The first cause behind `reason`: passed up from below, or else the child's own failure."""
        return reason.cause or Cause(self.path, child, str(reason), reason.trace, reason.origin, reason.fatal)

    def _give_up(self, why: str, cause: Cause) -> None:
        incarnation, lived_s = (self.host.ref.incarnation, self.host.lived_s) if self.host else (0, 0.0)
        self._tree.report(reports.SupervisorGaveUp(self.path, incarnation, why, cause, lived_s))
        self.finish(ExitReason("shutdown", why, cause=cause))

    def _record(self) -> FailureRecord | None:
        return None if self._node_spec.park is None else FailureRecord(self._node_spec.park)

    def _may_restart(self, record: FailureRecord | None, cause: Cause, leave: Message, *, proven: bool) -> bool:
        """Records a failure; returns whether to restart. Otherwise the child was parked, or this supervisor gave up."""
        if cause.fatal:
            self._give_up("a restart would fail again", cause)
            return False
        now = self._tree.clock.time()
        if record is not None and not record.allows_restart(now, cause, proven=proven):
            self._park(record, cause.child, leave)
            return False
        if (record is not None and proven) or self._window.add(now, cause):
            return True
        spec = self._node_spec
        self._give_up(f"more than {spec.intensity} restarts in {spec.period_s:g} s", self._window.first_cause)
        return False

    def _park(self, record: FailureRecord, child: ChildRef, leave: Message) -> None:
        policy = record.policy
        if record.times_parked == policy.max_times:
            self._give_up(f"{child.id!r} failed again after being parked {policy.max_times} times", record.first_cause)
            return
        delay_s = record.park()
        record.timer = self._tree.clock.call_later(delay_s, partial(self._post, leave))
        self._parked.add(record)
        self._tree.report(reports.ChildParked(self.path, child, delay_s, record.times_parked, record.first_cause))
        if policy.max_parked is not None and len(self._parked) > policy.max_parked:
            self._give_up(f"more than {policy.max_parked} children parked", record.first_cause)

    def _unpark(self, record: FailureRecord | None) -> None:
        if record is not None and record.timer is not None:
            record.timer.cancel()
            record.timer = None
            self._parked.discard(record)

    # ---- messages

    def _post(self, message: Message) -> None:
        self._mailbox.put_nowait(message)

    def _check_alive(self) -> None:
        if not self.alive:
            raise errors.NotRunningError(f"supervisor {self.path!r} does not run")

    async def _call(self, handle: Callable[[], Awaitable[T]]) -> T:
        """Runs `handle` in the supervisor's task, behind earlier messages; returns its result or raises its error."""
        self._check_alive()
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def fail(error: errors.SupervisionError) -> None:
            if not reply.done():
                reply.set_exception(error)

        async def answer() -> None:
            try:
                result = await handle()
            except errors.SupervisionError as error:
                fail(error)
            else:
                if not reply.done():  # the caller may have been cancelled
                    reply.set_result(result)

        fail_caller = partial(fail, errors.NotRunningError(f"supervisor {self.path!r} ended during the call"))
        self._callers.add(fail_caller)
        try:
            self._post(answer)
            return await reply
        finally:
            self._callers.discard(fail_caller)


@asynccontextmanager
async def running(root: NodeT) -> AsyncIterator[NodeT]:
    """Starts `root`, and stops it in order when the block is left.

    A cancellation does not interrupt the stop; it is raised when all children have ended or were abandoned.
    StartError if it did not start; GaveUpError if the block ended without an error, but the tree had already given up.
    """
    await root.start()
    try:
        yield root
    finally:
        by_itself = not root.alive
        await root._stop_to_the_end()
        reason = await root.wait()
    if by_itself and (reason.cause is not None or reason.kind == "error"):
        raise errors.GaveUpError(root.path, reason)


async def _nothing() -> None:
    """Wakes up a supervisor that has to end."""


class _NoWatcher:
    """The watcher of a root, which has no supervisor above it."""

    def _ignore(self, child: Child) -> None:
        pass

    child_started = child_ended = child_abandoned = _ignore
