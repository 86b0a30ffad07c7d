"""What a caller of the Python API brings to a run of fights or of another game of two seats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.league.matchmaker import Choose
    from selfplay.report.metrics import IterationReport

Callback = Callable[["IterationReport"], object]
"""Called after each iteration; False ends the run, saved."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that a run calls, one at a time, in a thread of its own. An error ends the run, saved."""

    opponents: Choose | None = None  # the main agent's choice of opponents; None: by the mode
    callbacks: Sequence[Callback] = ()
    opened: Callable[[RunDir], object] = lambda _: None  # told the folder of the run
