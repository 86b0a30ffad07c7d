"""The dynamic supervisor: any number of independent children, added and removed at run time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Unpack

from selfplay.supervision import errors
from selfplay.supervision.node import Node, TreeOptions
from selfplay.supervision.nursery import Failure, build
from selfplay.supervision.park import ChildSlot
from selfplay.supervision.spec import PoolSpec
from selfplay.supervision.tasks import spawn

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.exits import Cause, ChildRef, ExitReason
    from selfplay.supervision.spec import ChildSpec
    from selfplay.supervision.tree import TreeState


class Pool(Node):
    """Independent children (one_for_one) with one shared restart budget, stopped concurrently."""

    def __init__(self, spec: PoolSpec, **options: Unpack[TreeOptions]) -> None:
        super().__init__(spec, **options)
        self._slots: dict[ChildSlot, None] = {}  # an ordered set, by the start of the current incarnation
        self._by_id: dict[str, dict[ChildSlot, None]] = {}  # terminate_child does not scan all children
        self._by_child: dict[Child, ChildSlot] = {}

    # ---- calls

    async def terminate_child(self, which: ChildRef | str) -> None:
        """Stops and removes one incarnation, or all children with an id, including restarting and parked ones.

        NotFoundError if there is no such child, or a later incarnation of it runs.
        """
        await self._call(partial(self._terminate, which))

    def _children(self) -> Iterable[ChildSlot]:
        return self._slots

    async def _add(self, spec: ChildSpec) -> ChildRef | None:
        if spec.significant:
            raise errors.SpecError("bad_combination", f"{spec.id!r} is significant, which a pool does not support")
        outcome = await self._nursery.start(spec)
        if isinstance(outcome, Failure):
            raise errors.StartError(spec.id, outcome.reason)
        if outcome is None:
            return None
        slot = ChildSlot(spec, self._record())
        slot.restarting = True  # whenever it does not run: a pool forgets stopped children
        self._slots[slot] = self._by_id.setdefault(spec.id, {})[slot] = None
        self._started(slot, outcome)
        return outcome.ref

    async def _terminate(self, which: ChildRef | str) -> None:
        child_id = which if isinstance(which, str) else which.id
        same_id = self._by_id.get(child_id, {})
        found = [slot for slot in same_id if child_id is which or (slot.child is not None and slot.child.ref == which)]
        if not found:
            raise errors.NotFoundError(child_id)
        await self._stop(found)

    # ---- ends and restarts

    async def _open(self) -> None:
        """A pool starts empty."""

    async def _close(self) -> None:
        await self._stop(list(self._slots))

    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        slot = self._by_child.pop(child, None)
        if slot is None:  # terminated meanwhile
            return
        slot.child, slot.down_since = None, child.ended
        if slot.spec.restart == "permanent" or (slot.spec.restart == "transient" and not reason.clean):
            await self._restart(slot, self._cause(child.ref, reason), proven=child.proven)
        else:
            self._forget(slot)

    async def _restart(self, slot: ChildSlot, cause: Cause, *, proven: bool = False) -> None:
        """Restarts or parks a child, or gives up; a failed start queues another try behind waiting requests."""
        if self._may_restart(slot.record, cause, partial(self._leave_park, slot), proven=proven):
            await self._start_again(slot)

    async def _start_again(self, slot: ChildSlot) -> None:
        slot.restarts += 1
        outcome = await self._nursery.start(slot.spec, slot.restarts, slot.down_since)
        if isinstance(outcome, Failure):
            cause = self._cause(outcome.child, outcome.reason)
            self._post(partial(self._try_again, slot, cause))
            return
        if outcome is None:
            self._forget(slot)
            return
        del self._slots[slot]
        self._slots[slot] = None  # behind the others
        self._started(slot, outcome)

    async def _try_again(self, slot: ChildSlot, cause: Cause) -> None:
        if slot in self._slots and slot.state == "restarting":
            await self._restart(slot, cause)

    def _started(self, slot: ChildSlot, child: Child) -> None:
        slot.child = child
        self._by_child[child] = slot
        if slot.record is not None:
            slot.record.started(self._tree.clock.time())

    async def _leave_park(self, slot: ChildSlot) -> None:
        if slot.state == "parked":
            self._unpark(slot.record)
            await self._start_again(slot)

    def _forget(self, slot: ChildSlot) -> None:
        del self._slots[slot]
        self._unpark(slot.record)
        same_id = self._by_id[slot.spec.id]
        del same_id[slot]
        if not same_id:
            del self._by_id[slot.spec.id]

    async def _stop(self, slots: list[ChildSlot]) -> None:
        """Stops children concurrently and removes them."""
        stops = []
        for slot in slots:
            self._forget(slot)
            if slot.child is not None:
                self._by_child.pop(slot.child, None)
                stops.append(spawn(slot.child.stop(), f"stop {slot.spec.id}"))
        try:
            if stops:
                await asyncio.wait(stops)
        finally:
            for stop in stops:  # this pool was killed meanwhile
                stop.cancel()


@build.register(PoolSpec)
def _(spec: PoolSpec, path: str, tree: TreeState) -> Pool:
    return Pool(spec, name=path, tree=tree)
