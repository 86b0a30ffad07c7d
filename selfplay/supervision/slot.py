"""The place of one child in its supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.supervision.exits import ChildInfo

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.exits import ChildState
    from selfplay.supervision.park import FailureRecord
    from selfplay.supervision.spec import ChildSpec


class ChildSlot:
    """One child over all its incarnations; compared by identity, since ids are not unique in a pool."""

    __slots__ = ("child", "down_since", "record", "restarting", "restarts", "spec")

    def __init__(self, spec: ChildSpec, record: FailureRecord | None) -> None:
        self.spec = spec
        self.record = record
        self.child: Child | None = None
        self.restarting = False  # a restart is under way, failed and is tried again, or waits in the park
        self.restarts = 0
        self.down_since: float | None = None

    @property
    def state(self) -> ChildState:
        if self.child is not None:
            return "running"
        if self.record is not None and self.record.timer is not None:
            return "parked"
        return "restarting" if self.restarting else "stopped"

    @property
    def info(self) -> ChildInfo:
        ref = None if self.child is None else self.child.ref
        return ChildInfo(self.spec.id, ref, self.state, self.spec.kind, self.restarts)
