"""Creates the incarnations of one supervisor's children, waits for their start, and keeps them until they end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import TYPE_CHECKING

from selfplay.supervision import reports
from selfplay.supervision.child import Child
from selfplay.supervision.exits import NORMAL, ChildRef, ExitReason
from selfplay.supervision.spec import PoolSpec, SupervisorSpec
from selfplay.supervision.tasks import wait_any

if TYPE_CHECKING:
    from selfplay.supervision.child import Context
    from selfplay.supervision.node import Node
    from selfplay.supervision.spec import ChildFunction, ChildSpec, NodeSpec
    from selfplay.supervision.tree import TreeState

ENDING = ExitReason("shutdown", "its supervisor ends")


@singledispatch
def build(spec: NodeSpec, path: str, tree: TreeState) -> Node:
    """Creates the supervisor for `spec`; `Supervisor` and `Pool` register themselves."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Failure:
    """A child that did not start, and the reason. Incarnation 0: not tried, because the supervisor ends."""

    child: ChildRef
    reason: ExitReason


class Nursery:
    """The living children of one supervisor."""

    def __init__(self, path: str, tree: TreeState, exited: Callable[[Child, ExitReason], None]) -> None:
        self.live: dict[Child, Node | None] = {}
        """Children that have neither ended nor been abandoned, in start order; supervisors with their node."""
        self._path = path
        self._tree = tree
        self._exited = exited
        self._closed = False
        self._gate: asyncio.Future[None] | None = None

    async def start(
        self, spec: ChildSpec, restarts: int = 0, down_since: float | None = None
    ) -> Child | Failure | None:
        """Starts a child and waits until it is ready. Returns the child, the failure, or None if it declined."""
        if self._closed:
            return Failure(ChildRef(spec.id, 0), ENDING)
        self._gate = asyncio.get_running_loop().create_future()
        child = self._make(spec, restarts)
        child.down_since = down_since
        timeout_s = math.inf if spec.start_timeout_s is None else spec.start_timeout_s
        await wait_any(self._tree.clock, (child.ready, child.task, self._gate), timeout_s)
        if child.started:
            return child
        if child.ignored:
            self._tree.report(reports.ChildIgnored(self._path, child.ref))
            return None
        reason = await self._why_not(child, timeout_s)
        self._tree.report(reports.ChildStartFailed(self._path, child.ref, reason, restarts, child.lived_s))
        return Failure(child.ref, reason)

    def close(self) -> None:
        """Refuses further starts and aborts one in progress, because the supervisor ends."""
        self._closed = True
        if self._gate is not None and not self._gate.done():
            self._gate.set_result(None)

    def orphan_all(self) -> None:
        """Orphans all living children, the newest first."""
        for child in reversed(list(self.live)):
            child.orphan()

    async def _why_not(self, child: Child, timeout_s: float) -> ExitReason:
        if child.reason is None:
            reason = ENDING if self._closed else ExitReason("error", f"not ready within {timeout_s:g} s")
            await child.stop()
            return reason
        if child.reason.kind == "normal":
            return ExitReason("error", "returned before ctx.ready()")
        return child.reason

    def _make(self, spec: ChildSpec, restarts: int) -> Child:
        ref = self._tree.next_ref(self._path, spec.id)
        if isinstance(spec.start, SupervisorSpec | PoolSpec):
            node = build(spec.start, f"{self._path}/{spec.id}", self._tree)
            child = node.incarnate(spec, ref, restarts, self)
        else:
            node = None
            child = Child(spec, ref, restarts, self._tree.clock, self, partial(_work, spec.start))
        self.live[child] = node
        self._tree.began(child)
        return child

    def child_started(self, child: Child) -> None:
        """Reports the start immediately, so that no report of the end can come first."""
        self._tree.report(reports.ChildStarted(self._path, child.ref, child.restarts, child.down_s))

    def child_ended(self, child: Child) -> None:
        """Removes the child, and passes on an end that was not requested."""
        self.live.pop(child, None)
        self._tree.gone(child)
        self._tree.abandoned.pop(child, None)
        reason = child.reason or ENDING
        if child.started or child.abandoned:
            self._tree.report(
                reports.ChildExited(
                    self._path, child.ref, reason, child.restarts, child.asked, child.abandoned, child.lived_s
                )
            )
        if child.started and not child.asked:  # the caller handles requested ends
            self._exited(child, reason)

    def child_abandoned(self, child: Child) -> None:
        self.live.pop(child, None)
        self._tree.gone(child)
        self._tree.abandon(self._path, child)
        alive, total = len(self._tree.abandoned), self._tree.abandoned_total
        self._tree.report(reports.ChildAbandoned(self._path, child.ref, alive, total, child.restarts, child.lived_s))


async def _work(start: ChildFunction, context: Context) -> ExitReason:
    await start(context)
    return NORMAL
