"""The dynamic supervisor: any number of children that come and go, each on its own."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from selfplay.supervision import errors
from selfplay.supervision.exits import ChildInfo
from selfplay.supervision.intensity import RestartIntensity
from selfplay.supervision.node import Node
from selfplay.supervision.nursery import Failure, build
from selfplay.supervision.park import Record
from selfplay.supervision.reports import ChildParked
from selfplay.supervision.spec import PoolSpec
from selfplay.supervision.tasks import spawn
from selfplay.supervision.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from selfplay.supervision.child import Child
    from selfplay.supervision.clock import Clock, Timer
    from selfplay.supervision.exits import Cause, ChildRef, ChildState, ExitReason
    from selfplay.supervision.reports import Report
    from selfplay.supervision.spec import ChildSpec


class Member:
    """One child of a pool over all its incarnations; compared by identity, since ids are not keys here."""

    __slots__ = ("child", "record", "restarts", "spec", "timer")

    def __init__(self, spec: ChildSpec, child: Child, record: Record | None) -> None:
        self.spec = spec
        self.child: Child | None = child
        self.record = record
        self.restarts = 0
        self.timer: Timer | None = None  # set while parked

    @property
    def ref(self) -> ChildRef | None:
        """The incarnation that runs."""
        return None if self.child is None else self.child.ref

    @property
    def state(self) -> ChildState:
        """Running, restarting or parked."""
        if self.child is not None:
            return "running"
        return "restarting" if self.timer is None else "parked"


class Pool(Node):
    """Children without order: one_for_one, one shared restart budget, all stopped at the same time.

    Args:
        spec: limits of the pool.
        name: the root's name in paths.
        clock: monotonic time; real time by default.
        on_report: told everything that happens in the whole tree, see `reports`.
        tree: the tree to join; only nested pools are given one.
    """

    def __init__(
        self,
        spec: PoolSpec,
        *,
        name: str = "root",
        clock: Clock | None = None,
        on_report: Callable[[Report], None] | None = None,
        tree: Tree | None = None,
    ) -> None:
        super().__init__(spec, name, Tree(clock, on_report) if tree is None else tree)
        self._spec = spec
        self._members: dict[Member, None] = {}  # an ordered set, by the start of the present incarnation
        self._by_child: dict[Child, Member] = {}
        self._window = RestartIntensity(spec.intensity, spec.period_s)

    # ---- calls

    async def start_child(self, spec: ChildSpec) -> ChildRef | None:
        """Starts another child, whatever its id; None if it declined. It is not kept unless it runs.

        Raises:
            SpecError: it is significant, which nothing in a pool is (bad_combination).
            MaxChildrenError: the pool is full.
            StartError, NotRunningError: as they say.
        """
        return await self._call(partial(self._add, spec))

    async def terminate_child(self, which: ChildRef | str) -> None:
        """Stops and forgets one incarnation, or all children of an id, restarting and parked ones included.

        Raises:
            NotFoundError: no such child, or another incarnation of it runs by now.
            NotRunningError: this pool does not run.
        """
        await self._call(partial(self._terminate, which))

    def which_children(self) -> tuple[ChildInfo, ...]:
        """The children by the start of their present incarnation, as they are now; never blocks.

        Raises:
            NotRunningError: this pool does not run.
        """
        self._check_alive()
        return tuple(ChildInfo(m.spec.id, m.ref, m.state, m.spec.kind, m.restarts) for m in self._members)

    async def _add(self, spec: ChildSpec) -> ChildRef | None:
        if spec.significant:
            raise errors.SpecError("bad_combination", f"{spec.id!r} is significant, but in a pool")
        if self._spec.max_children is not None and len(self._members) >= self._spec.max_children:
            raise errors.MaxChildrenError(spec.id)
        outcome = await self._nursery.start(spec)
        if isinstance(outcome, Failure):
            raise errors.StartError(spec.id, outcome.reason)
        if outcome is None:
            return None
        record = None if self._spec.park is None else Record(self._spec.park)
        self._members[member := Member(spec, outcome, record)] = None
        self._started(member, outcome)
        return outcome.ref

    async def _terminate(self, which: ChildRef | str) -> None:
        found = [member for member in self._members if which in (member.spec.id, member.ref)]
        if not found:
            raise errors.NotFoundError(which if isinstance(which, str) else which.id)
        await self._stop(found)

    # ---- ends and restarts

    async def _open(self) -> None:
        """A pool starts empty."""

    async def _close(self) -> None:
        await self._stop(list(self._members))

    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        member = self._by_child.pop(child, None)
        if member is None:  # terminated meanwhile
            return
        member.child = None
        if member.spec.restart == "permanent" or (member.spec.restart == "transient" and not reason.clean):
            await self._restart(member, self._cause(child.ref, reason), proven=child.proven)
        else:
            del self._members[member]

    async def _restart(self, member: Member, cause: Cause, *, proven: bool = False) -> None:
        """Restarts a child, or parks it, or gives the pool up; a failure queues another try behind other requests."""
        now = self._tree.clock.time()
        if member.record is not None and not member.record.allows_restart(now, cause, proven=proven):
            self._park(member, member.record, cause.child)
        elif (member.record is not None and proven) or self._window.add(now, cause):
            await self._start_again(member)
        else:
            del self._members[member]
            self._give_up(
                f"more than {self._spec.intensity} restarts in {self._spec.period_s:g} s", self._window.first_cause
            )

    async def _start_again(self, member: Member) -> None:
        member.restarts += 1
        outcome = await self._nursery.start(member.spec, member.restarts)
        if isinstance(outcome, Failure):
            cause = self._cause(outcome.child, outcome.reason)
            self._post(partial(self._try_again, member, cause))
            return
        del self._members[member]
        if outcome is not None:
            self._members[member] = None  # behind the others
            self._started(member, outcome)

    async def _try_again(self, member: Member, cause: Cause) -> None:
        if member in self._members and member.state == "restarting":
            await self._restart(member, cause)

    def _started(self, member: Member, child: Child) -> None:
        member.child = child
        self._by_child[child] = member
        if member.record is not None:
            member.record.started(self._tree.clock.time())

    def _park(self, member: Member, record: Record, child: ChildRef) -> None:
        delay_s = record.park()
        member.timer = self._tree.clock.call_later(delay_s, lambda: self._post(partial(self._leave_park, member)))
        self._tree.report(ChildParked(self.path, child, delay_s, record.times_parked, record.first_cause))
        limit = record.policy.max_parked
        if limit is not None and sum(m.timer is not None for m in self._members) > limit:
            self._give_up(f"more than {limit} children parked", record.first_cause)

    async def _leave_park(self, member: Member) -> None:
        if member in self._members and member.timer is not None:
            member.timer = None
            await self._start_again(member)

    async def _stop(self, members: list[Member]) -> None:
        """Stops children all at the same time, each by its own rules, and forgets them."""
        stops = []
        for member in members:
            del self._members[member]
            if member.timer is not None:
                member.timer.cancel()
            if member.child is not None:
                self._by_child.pop(member.child, None)
                stops.append(spawn(member.child.stop(), f"stop {member.spec.id}"))
        try:
            if stops:
                await asyncio.wait(stops)
        finally:
            for stop in stops:  # only where this pool is killed meanwhile: nobody waits for them any more
                stop.cancel()


@build.register(PoolSpec)
def _(spec: PoolSpec, path: str, tree: Tree) -> Pool:
    return Pool(spec, name=path, tree=tree)
