"""What static supervisors and pools have in common: one mailbox, one task, and a place in the tree."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from selfplay.supervision import errors, reports
from selfplay.supervision.child import Child
from selfplay.supervision.exits import KILLED, SHUTDOWN, Cause, ChildCounts, ChildInfo, ChildRef, ExitReason
from selfplay.supervision.nursery import Nursery
from selfplay.supervision.spec import ChildSpec, NodeSpec

if TYPE_CHECKING:
    from selfplay.supervision.child import Context, Watcher
    from selfplay.supervision.tree import Tree

T = TypeVar("T")
NodeT = TypeVar("NodeT", bound="Node")
Message: TypeAlias = Callable[[], Awaitable[None]]


class Node(ABC):
    """A supervisor of either kind. One task owns all its state and handles one message after the other.

    Attributes:
        path: where it stands in the tree, such as "root/runners".
        host: the incarnation that this supervisor is in the eyes of the one above; None before it is started.
    """

    def __init__(self, spec: NodeSpec, path: str, tree: Tree) -> None:
        self.path = path
        self.host: Child | None = None
        self._node_spec = spec
        self._tree = tree
        self._nursery = Nursery(path, tree, self._child_exited)
        self._mailbox: asyncio.Queue[Message] = asyncio.Queue()  # a few messages for each child and waiting caller
        self._callers: set[Callable[[], None]] = set()  # each fails one waiting caller
        self._end: ExitReason | None = None  # set once: why this supervisor ends

    # ---- as its owner sees it

    async def start(self) -> None:
        """Starts this supervisor as the root of a tree.

        Raises:
            StartError: a child did not start; the ones before it were stopped again.
            SupervisionError: it was started before.
        """
        if self.host is not None:
            raise errors.SupervisionError(f"{self.path!r} was started before; make a new one")
        spec, ref = ChildSpec(self.path, self._node_spec), self._tree.next_ref("", self.path)
        host = self.incarnate(spec, ref, 0, _Nobody())
        try:
            await asyncio.wait({host.ready, host.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            host.kill()
            raise
        if not host.started and host.reason is not None:
            raise errors.StartError(self.path, host.reason)

    async def stop(self, reason: ExitReason = SHUTDOWN) -> ExitReason:
        """Stops all children in order, then this supervisor; returns how it ended, at once if it had already.

        Raises:
            NotRunningError: it was never started.
        """
        if self.host is not None:
            self.finish(reason)
        return await self.wait()

    async def wait(self) -> ExitReason:
        """Returns how this supervisor ended, once it has.

        Raises:
            NotRunningError: it was never started.
        """
        if self.host is None:
            raise errors.NotRunningError(f"{self.path!r} was never started")
        await asyncio.wait({self.host.task})
        return self.host.reason or KILLED

    def kill(self) -> None:
        """Ends this supervisor at once, and its children after it; one above it takes that for a crash.

        Workers are cancelled, supervisors below stop in order; what lives on for `KILL_GRACE_S` is killed or given up.
        """
        if self.host is not None:
            self.host.kill()

    @property
    def alive(self) -> bool:
        """Whether it was started and has neither ended nor begun to."""
        return self.host is not None and not self.host.task.done() and self._end is None

    @property
    def abandoned(self) -> tuple[ChildRef, ...]:
        """Children of the whole tree that were given up and still run."""
        return tuple(child.ref for child in self._tree.abandoned)

    @property
    def abandoned_total(self) -> int:
        """How many children of the whole tree were ever given up."""
        return self._tree.abandoned_total

    @abstractmethod
    def which_children(self) -> tuple[ChildInfo, ...]:
        """The children in start order, as they are now; never blocks.

        Raises:
            NotRunningError: this supervisor does not run.
        """

    def count_children(self) -> ChildCounts:
        """How many children there are and how many of them run; raises as `which_children` does."""
        rows = self.which_children()
        supervisors = sum(row.kind == "supervisor" for row in rows)
        active = sum(row.state == "running" for row in rows)
        return ChildCounts(len(rows), active, supervisors, len(rows) - supervisors)

    def find(self, path: str, kind: type[NodeT]) -> NodeT:
        """The supervisor that runs now at `path` below this one, such as "games/runners".

        Raises:
            NotFoundError: there is none of this kind.
        """
        head, _, rest = path.partition("/")
        for child, node in self._nursery.live.items():
            if node is not None and child.ref.id == head and child.started:
                if rest:
                    return node.find(rest, kind)
                if isinstance(node, kind):
                    return node
        raise errors.NotFoundError(path)

    # ---- as its task sees it

    def incarnate(self, spec: ChildSpec, ref: ChildRef, restarts: int, watcher: Watcher) -> Child:
        """Starts the task of this supervisor; done once, by whoever is above it."""
        ask = partial(self.finish, SHUTDOWN)
        self.host = Child(spec, ref, restarts, self._tree.clock, watcher, self.serve, ask)
        return self.host

    async def serve(self, context: Context) -> ExitReason:
        """Runs this supervisor in the task of its own incarnation; returns how it ended."""
        self._tree.report(reports.SupervisorStarting(self.path, context.incarnation))
        try:
            await self._open()
            if self._end is None:
                context.ready()
                self._tree.report(reports.SupervisorStarted(self.path, context.incarnation))
            while self._end is None:
                await self._handle_next()
            await self._close()
        except GeneratorExit:  # the event loop is gone, nothing can be done any more
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
        """Makes this supervisor end before it handles another message; a start under way is given up."""
        if self._end is None:
            self._end = reason
            self._nursery.close()
            self._post(_nothing)

    async def _handle_next(self) -> None:
        handle = await self._mailbox.get()
        if self._end is None:
            await handle()

    @abstractmethod
    async def _open(self) -> None:
        """Starts the first children; finishes this supervisor if one does not start."""

    @abstractmethod
    async def _close(self) -> None:
        """Stops all children."""

    @abstractmethod
    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        """Decides what it means that a child, once started, ended by itself."""

    def _child_exited(self, child: Child, reason: ExitReason) -> None:
        self._post(partial(self._on_exit, child, reason))

    def _cause(self, child: ChildRef, reason: ExitReason) -> Cause:
        """The first cause behind `reason`: the child's own words, or what it was handed from below."""
        return reason.cause or Cause(self.path, child, str(reason), reason.traceback, reason.origin)

    def _give_up(self, why: str, cause: Cause) -> None:
        incarnation, lived_s = (self.host.ref.incarnation, self.host.lived_s) if self.host else (0, 0.0)
        self._tree.report(reports.SupervisorGaveUp(self.path, incarnation, why, cause, lived_s))
        self.finish(ExitReason("shutdown", why, cause=cause))

    # ---- messages

    def _post(self, message: Message) -> None:
        self._mailbox.put_nowait(message)

    def _check_alive(self) -> None:
        if not self.alive:
            raise errors.NotRunningError(f"supervisor {self.path!r} does not run")

    async def _call(self, handle: Callable[[], Awaitable[T]]) -> T:
        """Has the owning task run `handle` behind all earlier messages; returns its result or raises its error."""
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
                if not reply.done():  # the caller may have given up; what it asked for is done all the same
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
    """Starts `root`, and stops it in order when the block is left, whatever the reason.

    Raises:
        StartError: it did not start.
        GaveUpError: the block ended without an error, but the tree had given up before.
    """
    await root.start()
    try:
        yield root
    finally:
        by_itself = not root.alive
        reason = await root.stop()
    if by_itself and (reason.cause is not None or reason.kind == "error"):
        raise errors.GaveUpError(root.path, reason)


async def _nothing() -> None:
    """Wakes a supervisor that has to end."""


class _Nobody:
    """Watches a root: there is no supervisor above it, and `wait()` tells its owner."""

    def child_ended(self, child: Child) -> None:
        """Nothing to do."""

    def child_abandoned(self, child: Child) -> None:
        """Nothing to do."""
