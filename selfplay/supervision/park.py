"""The place of a child in its supervisor, and limits on restarts.

A supervisor gives up when it exceeds its limit within a time window; a child that exceeds its own is parked.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from selfplay.supervision.exits import ChildInfo

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.clock import Timer
    from selfplay.supervision.exits import Cause, ChildState
    from selfplay.supervision.spec import ChildSpec, ParkPolicy

EDGE_S = 1e-9  # tolerance for float rounding at the edge of the window


class RestartIntensity:
    """Allows at most `intensity` restarts within `period_s` seconds.

    The window is inclusive: a restart exactly `period_s` ago still counts. OTP counts whole seconds, so its window
    can be up to one second longer.
    """

    def __init__(self, intensity: int, period_s: float) -> None:
        self.intensity = intensity
        self.period_s = period_s
        self._restarts: deque[tuple[float, Cause]] = deque()

    def add(self, now: float, cause: Cause) -> bool:
        """Records a restart or a failed attempt; returns whether it is allowed."""
        self._restarts.append((now, cause))
        while self._restarts[0][0] < now - self.period_s - EDGE_S:
            self._restarts.popleft()
        return len(self._restarts) <= self.intensity

    @property
    def first_cause(self) -> Cause:
        """Cause of the oldest restart in the window; there must be one."""
        return self._restarts[0][1]


class FailureRecord:
    """Failures of one child since it last ran for a whole period or proved itself."""

    def __init__(self, policy: ParkPolicy) -> None:
        self.policy = policy  # limits and back-off
        self.timer: Timer | None = None  # ends the parking; None while the child is not parked
        self._forgive()
        self._up_since: float | None = None

    def _forgive(self) -> None:
        self.times_parked = 0  # in this streak of failures
        self._window = RestartIntensity(self.policy.max_restarts, self.policy.period_s)
        self._first_cause: Cause | None = None

    @property
    def first_cause(self) -> Cause:
        """The first failure of the current streak; there must be one."""
        if self._first_cause is None:
            raise RuntimeError("this child has not failed")
        return self._first_cause

    def started(self, now: float) -> None:
        self._up_since = now

    def allows_restart(self, now: float, cause: Cause, *, proven: bool) -> bool:
        """Records a failure; returns whether the child may restart at once. `proven`: it called `ctx.prove()`."""
        if proven or (self._up_since is not None and now - self._up_since >= self.policy.period_s):
            self._forgive()
        self._up_since = None
        if self._first_cause is None:
            self._first_cause = cause
        return self._window.add(now, cause)

    def park(self) -> float:
        """Returns the seconds to wait; each call in a streak returns a longer time, up to the maximum."""
        delay_s = self.policy.delay_s(self.times_parked)
        self.times_parked += 1
        return delay_s


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
