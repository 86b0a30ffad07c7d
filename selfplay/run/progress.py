"""Progress of a run, the durations of its phases, and the lines printed for an iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import list_generations
from selfplay.checkpoint.generations import SET_ASIDE
from selfplay.report.files import last_iteration
from selfplay.report.health import Health, HealthMonitor
from selfplay.run.stopping import START
from selfplay.runner.chaos import Chaos, parse_plan

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerMeta, LearnerState, RunDir
    from selfplay.config.base import SelfPlaySettings


@dataclass(eq=False)
class Progress:
    """Counters of a run."""

    chaos: Chaos  # faults on purpose, and what became of them
    health: HealthMonitor = field(default_factory=Health)
    iteration: int = 0
    total_steps: int = 0
    elapsed_s: float = 0.0
    phase: str = START  # what the learner does, see ``stopping``
    longest_s: float = 0.0  # of an iteration, in this session
    generations: list[str] = field(default_factory=list)  # those that opponents are drawn from
    newest: str = ""
    saved: int = 0  # iteration of the newest state on the disk
    finished: bool = False
    ended_by: str = ""  # cause of an early end, if it was not the user
    games: int = 0  # finished ones, in trainings that count games
    lost: int = 0  # games that did not finish, in the same
    restarts: int = 0
    first_failure: str = ""  # of a runner in this session
    tasks: int | None = None  # of the event loop, as the last iteration ended
    late: int = 0  # segments that came an iteration late and were learned from, in this session
    dropped: int = 0  # those that came too late for that
    speeds: list[float] = field(default_factory=list)

    def restore(self, meta: LearnerMeta, *, resumed: bool) -> None:
        """Set the counters that all runs have from a state.

        ``resumed``: whether the run is; a loop that was restarted within a run keeps its count of restarts.
        """
        self.iteration, self.total_steps = meta.iteration, meta.total_steps
        self.elapsed_s, self.saved = meta.elapsed_s, meta.iteration
        if resumed:
            self.restarts = int(str(meta.extra.get("restarts", 0)))

    def how_it_ended(self, *, whole: bool) -> str:
        """Start of a sentence on the end of the run; ``whole``: all files that it needs are on the disk."""
        if self.finished:
            return "Finished"
        saved = whole and self.saved == self.iteration
        how = f"Ended by {self.ended_by}" if self.ended_by else "Interrupted"
        return f"{how}, and saved," if saved else f"{how} (the newest state is of {self.saved}),"


def chaos_of(run: SelfPlaySettings, resumed: LearnerState | None) -> Chaos:
    """The faults of a run, including those of the runs it resumes."""
    counts: Any = resumed.meta.extra.get("chaos") if resumed else None
    return Chaos(parse_plan(run.chaos), run.seed, counts)


def resumed_at(run: RunDir, state: LearnerState) -> str:
    """The iteration that a run resumes at, and which later ones it repeats and why. Call it before the run begins."""
    there = state.meta.iteration
    newer = [generation for generation in list_generations(run) if generation.iteration > there]
    newest = max([last_iteration(run.metrics), *(generation.iteration for generation in newer)])
    if newest <= there:
        return f"iteration {there}"
    repeated = f"iteration {newest} is" if newest == there + 1 else f"iterations {there + 1} to {newest} are"
    why = "later states are damaged" if state.skipped else "the run ended before it saved a later state"
    names = ", ".join(generation.id for generation in newer)
    aside = f"; {names} without a state: moved to {run.generations.name}/{SET_ASIDE}" if newer else ""
    return f"iteration {there}; {repeated} repeated, since {why}{aside}"


class Phases:
    """Seconds of the phases of one iteration, which count towards the run's time as each ends."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._since = time.monotonic()

    def end(self, phase: str) -> None:
        now = time.monotonic()
        self.seconds[phase] = now - self._since
        self._progress.elapsed_s += self.seconds[phase]
        self._since = now
