"""How many restarts are too many."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.supervision.exits import Cause

EDGE_S = 1e-9  # differences of floats must not decide whether the edge of the window is inside


class RestartIntensity:
    """A window of restarts: more than `intensity` of them within `period_s` seconds is too many.

    The window is inclusive: a restart exactly `period_s` ago still counts. OTP does the same in whole seconds, which
    makes its window up to one second longer, by chance; here time is exact.
    """

    def __init__(self, intensity: int, period_s: float) -> None:
        self.intensity = intensity
        self.period_s = period_s
        self._restarts: deque[tuple[float, Cause]] = deque()

    def add(self, now: float, cause: Cause) -> bool:
        """Notes one restart (a failed attempt is one too); returns whether it is still allowed."""
        self._restarts.append((now, cause))
        while self._restarts[0][0] < now - self.period_s - EDGE_S:
            self._restarts.popleft()
        return len(self._restarts) <= self.intensity

    @property
    def first_cause(self) -> Cause:
        """Why the oldest restart in the window happened; there must be one."""
        return self._restarts[0][1]
