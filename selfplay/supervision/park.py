"""The record of one child of a pool: when it has crashed too often, and how long it then waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.supervision.intensity import RestartIntensity

if TYPE_CHECKING:
    from selfplay.supervision.exits import Cause
    from selfplay.supervision.spec import ParkPolicy


class Record:
    """Failures of one child since it last stayed up for a whole period, or proved itself.

    Attributes:
        policy: the rules.
        times_parked: how often it was parked since.
    """

    def __init__(self, policy: ParkPolicy) -> None:
        self.policy = policy
        self._forgive()
        self._up_since: float | None = None

    def _forgive(self) -> None:
        self.times_parked = 0
        self._window = RestartIntensity(self.policy.max_restarts, self.policy.period_s)
        self._first_cause: Cause | None = None

    @property
    def first_cause(self) -> Cause:
        """The failure that the present streak began with; there must have been one."""
        if self._first_cause is None:
            raise RuntimeError("this child has not failed")
        return self._first_cause

    def started(self, now: float) -> None:
        """Notes that the child runs."""
        self._up_since = now

    def allows_restart(self, now: float, cause: Cause, *, proven: bool) -> bool:
        """Notes a failure; returns whether the child may restart at once. `proven`: it did its work before."""
        if proven or (self._up_since is not None and now - self._up_since >= self.policy.period_s):
            self._forgive()
        self._up_since = None
        if self._first_cause is None:
            self._first_cause = cause
        return self._window.add(now, cause)

    def park(self) -> float:
        """Returns the seconds that it waits now; the next time it will be longer."""
        delay_s = self.policy.delay_s(self.times_parked)
        self.times_parked += 1
        return delay_s
