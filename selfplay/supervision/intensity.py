"""Restart intensity: a limit on restarts within a time window."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.supervision.exits import Cause

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
