"""The static supervisor: an ordered list of children, restarted one by one or in groups."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Unpack

from selfplay.supervision import errors
from selfplay.supervision.exits import ExitReason
from selfplay.supervision.node import Node, TreeOptions
from selfplay.supervision.nursery import Failure, build
from selfplay.supervision.park import ChildSlot
from selfplay.supervision.spec import SupervisorSpec, check_significance

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.exits import Cause, ChildRef
    from selfplay.supervision.spec import ChildSpec
    from selfplay.supervision.tree import TreeState


class Supervisor(Node):
    """Starts its children in order, restarts them by its strategy, and stops them in reverse order."""

    def __init__(self, spec: SupervisorSpec, **options: Unpack[TreeOptions]) -> None:
        super().__init__(spec, **options)
        self._spec = spec
        self._slots = {child.id: ChildSlot(child, self._record()) for child in spec.children}

    # ---- calls

    async def terminate_child(self, child_id: str) -> None:
        """Stops a child without restarting it. Its specification is kept unless it is temporary."""
        await self._call(partial(self._terminate, child_id))

    async def restart_child(self, child_id: str) -> ChildRef | None:
        """Starts a stopped child; returns None if it declined. After a StartError its specification is kept."""
        return await self._call(partial(self._start_again, child_id))

    async def delete_child(self, child_id: str) -> None:
        """Removes a stopped child. RunningError or RestartingError if it is not stopped."""
        await self._call(partial(self._delete, child_id))

    def leave_park(self) -> None:
        """Restarts all parked children and their groups now."""
        for slot in self._slots.values():
            if slot.state == "parked":
                self._post(partial(self._leave_park, slot))

    def _children(self) -> Iterable[ChildSlot]:
        return self._slots.values()

    async def _add(self, spec: ChildSpec) -> ChildRef | None:
        check_significance(spec, self._spec.auto_shutdown)
        present = self._slots.get(spec.id)
        if present is not None:
            if present.child is not None:
                raise errors.AlreadyStartedError(spec.id, present.child.ref)
            raise errors.AlreadyPresentError(spec.id)
        slot = ChildSlot(spec, self._record())
        ref = await self._start_by_hand(slot)
        if ref is not None or spec.restart != "temporary":
            self._slots[spec.id] = slot
        return ref

    async def _terminate(self, child_id: str) -> None:
        slot = self._slots.get(child_id)
        if slot is None:
            raise errors.NotFoundError(child_id)
        await self._stop(slot)

    async def _start_again(self, child_id: str) -> ChildRef | None:
        return await self._start_by_hand(self._stopped_slot(child_id))

    async def _delete(self, child_id: str) -> None:
        del self._slots[self._stopped_slot(child_id).spec.id]

    def _stopped_slot(self, child_id: str) -> ChildSlot:
        slot = self._slots.get(child_id)
        if slot is None:
            raise errors.NotFoundError(child_id)
        if slot.child is not None:
            raise errors.RunningError(child_id)
        if slot.restarting:
            raise errors.RestartingError(child_id)
        return slot

    async def _start_by_hand(self, slot: ChildSlot) -> ChildRef | None:
        failure = await self._start(slot)
        if failure is not None:
            raise errors.StartError(slot.spec.id, failure.reason)
        return None if slot.child is None else slot.child.ref

    # ---- ends and restarts

    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        slot = self._slots.get(child.ref.id)
        if slot is None or slot.child is not child:  # stopped meanwhile, or an earlier incarnation
            return
        slot.child, slot.down_since = None, child.ended
        if slot.spec.restart == "permanent" or (slot.spec.restart == "transient" and not reason.clean):
            await self._restart(slot, self._cause(child.ref, reason), proven=child.proven)
        else:
            self._clear(slot)
            self._shut_down_automatically(slot)

    async def _restart(self, slot: ChildSlot, cause: Cause, *, proven: bool = False) -> None:
        """Restarts a child with its group, or parks it and stops its group, or gives up."""
        if self._may_restart(slot.record, cause, partial(self._leave_park, slot), proven=proven):
            await self._restart_group(slot)
        elif slot.state == "parked":
            slot.restarting = True
            for other in reversed(self._group_of(slot)):
                if other is not slot:
                    await self._stop(other)

    async def _leave_park(self, slot: ChildSlot) -> None:
        if slot.state == "parked":
            await self._restart_group(slot)

    async def _restart_group(self, slot: ChildSlot) -> None:
        """Restarts a child with its group; a failed start queues another try behind waiting requests."""
        group = self._group_of(slot)
        for other in reversed(group):
            await self._stop(other)
        # Without temporary children, which were removed.
        group = [member for member in group if member.spec.id in self._slots]
        for member in group:
            member.restarts += 1
            member.restarting = True
        failed = await self._start_all(group)
        if failed is not None:
            culprit, failure = failed
            for member in group:
                member.restarting = member is culprit
            self._post(partial(self._try_again, culprit, self._cause(failure.child, failure.reason)))

    async def _try_again(self, slot: ChildSlot, cause: Cause) -> None:
        if slot.restarting and self._slots.get(slot.spec.id) is slot:
            await self._restart(slot, cause)

    def _group_of(self, slot: ChildSlot) -> list[ChildSlot]:
        slots = list(self._slots.values())
        match self._spec.strategy:
            case "one_for_one":
                return [slot]
            case "rest_for_one":
                return slots[slots.index(slot) :]
            case "one_for_all":
                return slots

    def _shut_down_automatically(self, ended: ChildSlot) -> None:
        """Applies `auto_shutdown` after `ended` has ended."""
        if not ended.spec.significant:
            return
        left = any(slot.spec.significant and slot.state != "stopped" for slot in self._slots.values())
        if self._spec.auto_shutdown == "any_significant" or not left:
            self.finish(ExitReason("shutdown", f"significant child {ended.spec.id!r} ended"))

    # ---- starting and stopping

    async def _open(self) -> None:
        failed = await self._start_all(list(self._slots.values()))
        if failed is not None:
            slot, failure = failed
            cause = self._cause(failure.child, failure.reason)
            detail = ("failed_to_start_child", slot.spec.id)
            self.finish(ExitReason("shutdown", f"{slot.spec.id!r} did not start", detail=detail, cause=cause))

    async def _close(self) -> None:
        for slot in reversed(list(self._slots.values())):
            await self._stop(slot)

    async def _start(self, slot: ChildSlot) -> Failure | None:
        """Starts a child in its slot; returns the failure, if any. A child that declines leaves the slot empty."""
        outcome = await self._nursery.start(slot.spec, slot.restarts, slot.down_since)
        if isinstance(outcome, Failure):
            return outcome
        slot.child, slot.restarting = outcome, False
        if outcome is not None and slot.record is not None:
            slot.record.started(self._tree.clock.time())
        return None

    async def _start_all(self, slots: list[ChildSlot]) -> tuple[ChildSlot, Failure] | None:
        """Starts children in order up to the first failure; temporary children that decline are removed."""
        for slot in slots:
            failure = await self._start(slot)
            if failure is not None:
                return slot, failure
            if slot.child is None:
                self._clear(slot)
        return None

    async def _stop(self, slot: ChildSlot) -> None:
        if slot.child is not None:
            await slot.child.stop()
            slot.down_since = self._tree.clock.time()
        self._clear(slot)

    def _clear(self, slot: ChildSlot) -> None:
        """Empties a slot; the slot of a temporary child is removed."""
        slot.child, slot.restarting = None, False
        self._unpark(slot.record)
        if slot.spec.restart == "temporary":
            self._slots.pop(slot.spec.id, None)


@build.register(SupervisorSpec)
def _(spec: SupervisorSpec, path: str, tree: TreeState) -> Supervisor:
    return Supervisor(spec, name=path, tree=tree)
