"""The processor time of a training, and the NashConv of its policies at set times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scripts.studies.equilibrium.names import MARKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.studies.equilibrium.games import F64, Tree

    Policy = Callable[[], F64]


class Meter:
    """Tells a training when to show its policy and when to end.

    The time is that of all threads of this process from its start, without the enumeration of the game and without the
    measurements.

    Args:
        tree: The game.
        budget_s: Processor seconds of the training.
        paused_s: Processor seconds so far that are none of the training.

    Attributes:
        points: The measurements: seconds, steps, NashConv of the last and of the average policy.
    """

    def __init__(self, tree: Tree, budget_s: float, paused_s: float = 0.0) -> None:
        self.budget_s = budget_s
        self.points: list[dict[str, Any]] = []
        self._tree = tree
        self._paused_s = paused_s
        self._marks = [share * budget_s for share in MARKS]

    @property
    def seconds(self) -> float:
        """Processor seconds of the training so far."""
        return time.process_time() - self._paused_s

    @property
    def due(self) -> bool:
        """Whether a measurement is due."""
        return bool(self._marks) and self.seconds >= self._marks[0]

    @property
    def finished(self) -> bool:
        """Whether the last measurement is made."""
        return not self._marks

    def add(
        self, steps: int, last: Policy | None = None, average: Policy | None = None, at_s: float | None = None
    ) -> None:
        """Measure policies, each given as a function that returns its probabilities [N, A].

        Args:
            steps: Decisions so far, or iterations of a method that samples none.
            last: The policy of this moment.
            average: The average of all policies so far, of a method that has one.
            at_s: When they were the policies; by default now.
        """
        now = self.seconds if at_s is None else at_s
        began = time.process_time()
        self._marks = [mark for mark in self._marks if mark > now]
        found = {"last": last, "average": average}
        measured = {name: None if policy is None else self._tree.nash_conv(policy()) for name, policy in found.items()}
        self.points.append({"seconds": round(now, 2), "steps": steps, **measured})
        self._paused_s += time.process_time() - began
