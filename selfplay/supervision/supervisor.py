"""The static supervisor: known children, ordered, restarted alone or in groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from selfplay.supervision import errors
from selfplay.supervision.exits import ChildInfo, ExitReason
from selfplay.supervision.intensity import RestartIntensity
from selfplay.supervision.node import Node
from selfplay.supervision.nursery import Failure, build
from selfplay.supervision.spec import SupervisorSpec, check_significance
from selfplay.supervision.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from selfplay.supervision.child import Child
    from selfplay.supervision.clock import Clock
    from selfplay.supervision.exits import Cause, ChildRef, ChildState
    from selfplay.supervision.reports import Report
    from selfplay.supervision.spec import ChildSpec


class Slot:
    """The place of one child: its specification stays while incarnations come and go."""

    __slots__ = ("child", "restarting", "restarts", "spec")

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.child: Child | None = None
        self.restarting = False  # being restarted, or waiting for another try because that failed
        self.restarts = 0

    @property
    def ref(self) -> ChildRef | None:
        """The incarnation that runs."""
        return None if self.child is None else self.child.ref

    @property
    def state(self) -> ChildState:
        """Running, restarting or stopped."""
        if self.child is not None:
            return "running"
        return "restarting" if self.restarting else "stopped"


class Supervisor(Node):
    """Starts its children in order, restarts them as its strategy says, stops them in reverse order.

    Args:
        spec: what to run.
        name: the root's name in paths.
        clock: monotonic time; real time by default.
        on_report: told everything that happens in the whole tree, see `reports`.
        tree: the tree to join; only nested supervisors are given one.
    """

    def __init__(
        self,
        spec: SupervisorSpec,
        *,
        name: str = "root",
        clock: Clock | None = None,
        on_report: Callable[[Report], None] | None = None,
        tree: Tree | None = None,
    ) -> None:
        super().__init__(spec, name, Tree(clock, on_report) if tree is None else tree)
        self._spec = spec
        self._slots = {child.id: Slot(child) for child in spec.children}
        self._window = RestartIntensity(spec.intensity, spec.period_s)

    # ---- calls

    async def start_child(self, spec: ChildSpec) -> ChildRef | None:
        """Adds a child behind the others and starts it; None if it declined.

        Raises:
            SpecError: significant where it cannot be (bad_combination).
            AlreadyStartedError, AlreadyPresentError: the id is taken.
            StartError: it did not start, and is not kept.
            NotRunningError: this supervisor does not run.
        """
        return await self._call(partial(self._add, spec))

    async def terminate_child(self, child_id: str) -> None:
        """Stops a child by hand; this is no crash, and its place stays unless it is temporary.

        Raises:
            NotFoundError, NotRunningError: as they say.
        """
        await self._call(partial(self._terminate, child_id))

    async def restart_child(self, child_id: str) -> ChildRef | None:
        """Starts a child that is stopped; None if it declined.

        Raises:
            RunningError, RestartingError, NotFoundError, NotRunningError: as they say.
            StartError: it did not start; its place stays.
        """
        return await self._call(partial(self._start_again, child_id))

    async def delete_child(self, child_id: str) -> None:
        """Forgets a child that is stopped.

        Raises:
            RunningError, RestartingError, NotFoundError, NotRunningError: as they say.
        """
        await self._call(partial(self._delete, child_id))

    def which_children(self) -> tuple[ChildInfo, ...]:
        """The children in start order, as they are now; never blocks.

        Raises:
            NotRunningError: this supervisor does not run.
        """
        self._check_alive()
        slots = self._slots.values()
        return tuple(ChildInfo(slot.spec.id, slot.ref, slot.state, slot.spec.kind, slot.restarts) for slot in slots)

    async def _add(self, spec: ChildSpec) -> ChildRef | None:
        check_significance(spec, self._spec.auto_shutdown)
        present = self._slots.get(spec.id)
        if present is not None:
            if present.child is not None:
                raise errors.AlreadyStartedError(spec.id, present.child.ref)
            raise errors.AlreadyPresentError(spec.id)
        slot = Slot(spec)
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

    def _stopped_slot(self, child_id: str) -> Slot:
        slot = self._slots.get(child_id)
        if slot is None:
            raise errors.NotFoundError(child_id)
        if slot.child is not None:
            raise errors.RunningError(child_id)
        if slot.restarting:
            raise errors.RestartingError(child_id)
        return slot

    async def _start_by_hand(self, slot: Slot) -> ChildRef | None:
        failure = await self._start(slot)
        if failure is not None:
            raise errors.StartError(slot.spec.id, failure.reason)
        return slot.ref

    # ---- ends and restarts

    async def _on_exit(self, child: Child, reason: ExitReason) -> None:
        slot = self._slots.get(child.ref.id)
        if slot is None or slot.child is not child:  # stopped meanwhile, or of an earlier incarnation
            return
        slot.child = None
        if slot.spec.restart == "permanent" or (slot.spec.restart == "transient" and not reason.clean):
            await self._restart(slot, self._cause(child.ref, reason))
        else:
            self._clear(slot)
            self._shut_down_automatically(slot)

    async def _restart(self, slot: Slot, cause: Cause) -> None:
        """Restarts a child and whom its strategy adds; a failure queues another try behind waiting requests."""
        if not self._window.add(self._tree.clock.time(), cause):
            self._give_up(
                f"more than {self._spec.intensity} restarts in {self._spec.period_s:g} s", self._window.first_cause
            )
            return
        group = self._group_of(slot)
        for other in reversed(group):
            await self._stop(other)
        group = [member for member in group if member.spec.id in self._slots]  # temporary ones are forgotten by now
        for member in group:
            member.restarts += 1
            member.restarting = True
        failed = await self._start_all(group)
        if failed is not None:
            culprit, failure = failed
            for member in group:
                member.restarting = member is culprit
            self._post(partial(self._try_again, culprit, self._cause(failure.child, failure.reason)))

    async def _try_again(self, slot: Slot, cause: Cause) -> None:
        if slot.restarting and self._slots.get(slot.spec.id) is slot:
            await self._restart(slot, cause)

    def _group_of(self, slot: Slot) -> list[Slot]:
        slots = list(self._slots.values())
        match self._spec.strategy:
            case "one_for_one":
                return [slot]
            case "rest_for_one":
                return slots[slots.index(slot) :]
            case "one_for_all":
                return slots

    def _shut_down_automatically(self, ended: Slot) -> None:
        """Ends this supervisor if `ended` was significant and, for all_significant, the last such child."""
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

    async def _start(self, slot: Slot) -> Failure | None:
        """Starts a child in its place; returns why it failed. One that declines leaves its place empty."""
        outcome = await self._nursery.start(slot.spec, slot.restarts)
        if isinstance(outcome, Failure):
            return outcome
        slot.child, slot.restarting = outcome, False
        return None

    async def _start_all(self, slots: list[Slot]) -> tuple[Slot, Failure] | None:
        """Starts children in order, up to the first that fails; temporary ones that decline are forgotten."""
        for slot in slots:
            failure = await self._start(slot)
            if failure is not None:
                return slot, failure
            if slot.child is None:
                self._clear(slot)
        return None

    async def _stop(self, slot: Slot) -> None:
        if slot.child is not None:
            await slot.child.stop()
        self._clear(slot)

    def _clear(self, slot: Slot) -> None:
        """Empties a place; a temporary child is forgotten with it."""
        slot.child, slot.restarting = None, False
        if slot.spec.restart == "temporary":
            self._slots.pop(slot.spec.id, None)


@build.register(SupervisorSpec)
def _(spec: SupervisorSpec, path: str, tree: Tree) -> Supervisor:
    return Supervisor(spec, name=path, tree=tree)
