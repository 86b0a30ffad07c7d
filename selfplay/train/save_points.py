"""When a run saves: every so many iterations, and sooner where the last state could not be saved."""

from __future__ import annotations


class SavePoints:
    """Counts the iterations between tries.

    A state that could not be saved is tried again after 1, 2, 4, ... iterations: a disk may have room again soon, and
    a try costs as much as a save.

    Args:
        interval: Iterations between save points.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._tried = 0  # iteration of the last try
        self._pause = 0  # iterations from there to the next; 0: it went well

    def is_point(self, iteration: int) -> bool:
        """Whether a generation and a state are to be saved after this iteration, whatever came before."""
        return iteration % self._interval == 0

    def is_due(self, iteration: int) -> bool:
        """Whether something is to be saved after this iteration."""
        return self.is_point(iteration) or 0 < self._pause <= iteration - self._tried

    def tried(self, iteration: int, *, saved: bool) -> None:
        """A state was saved, or could not be."""
        self._tried = iteration
        self._pause = 0 if saved else min(max(1, 2 * self._pause), self._interval)
