"""Where a run stands, how long its phases take, and what people read about an iteration."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

from selfplay.report.health import Health
from selfplay.report.metrics import IterationReport, Update
from selfplay.runner.chaos import Chaos, parse_plan
from selfplay.runner.worker import Worker
from selfplay.trainer.batch import mean_score, met, summarise, zero_sum_error

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.runner.segment import Collected
    from selfplay.trainer.rater import Rater
    from selfplay.trainer.session import Session


class Progress:
    """Where a run stands; what its end is told from."""

    def __init__(self, chaos: Chaos, health: Health | None = None) -> None:
        self.iteration = 0
        self.total_steps = 0
        self.elapsed_s = 0.0
        self.generations: list[str] = []  # those that opponents are drawn from
        self.newest = ""
        self.saved = 0  # iteration of the newest state on the disk
        self.finished = False
        self.games = 0  # of words that came to their end, and that did not
        self.lost = 0
        self.restarts = 0
        self.tasks: int | None = None  # of the event loop, as the last iteration ended
        self.late = 0  # segments that came an iteration late and were learned from, in this session
        self.dropped = 0  # those that came too late for that
        self.speeds: list[float] = []
        self.chaos = chaos  # faults on purpose, and what became of them
        self.health = health or Health()

    def fate(self, *, whole: bool) -> str:
        """How the run ended, for people; ``whole``: nothing that it needs was refused by the disk."""
        if self.finished:
            return "Finished"
        saved = whole and self.saved == self.iteration
        return "Interrupted, and saved," if saved else f"Interrupted (the newest state is of {self.saved}),"


class ChaosSettings(Protocol):
    """What the settings of a run say of faults on purpose."""

    @property
    def chaos(self) -> str | None:
        """The plan, as ``--chaos`` gives it."""
        ...

    @property
    def seed(self) -> int:
        """Of the run."""
        ...


def chaos_of(run: ChaosSettings, resumed: LearnerState | None) -> Chaos:
    """The faults of a run, with the account of what it was resumed from."""
    told: Any = resumed.meta.extra.get("chaos") if resumed else None
    return Chaos(parse_plan(run.chaos), run.seed, told)


class Phases:
    """Seconds of the phases of one iteration, which count towards the run's time as each ends."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._since = time.monotonic()

    def end(self, phase: str) -> None:
        """A phase ends and the next begins."""
        now = time.monotonic()
        self.seconds[phase] = now - self._since
        self._progress.elapsed_s += self.seconds[phase]
        self._since = now


def iteration_report(
    session: Session,
    progress: Progress,
    collected: Sequence[Collected],
    update: Update,
    phases: Mapping[str, float],
    rater: Rater | None = None,
    others: Mapping[str, Sequence[Collected]] | None = None,
) -> IterationReport:
    """What people read about the iteration that ``progress`` has just counted; ``others`` are exploiters' segments."""
    everything = [*collected, *(part for parts in (others or {}).values() for part in parts)]
    config = session.config
    cuda = session.device.startswith("cuda")
    return IterationReport(
        iteration=progress.iteration,
        iterations=session.iterations,
        steps=session.config.steps_per_iteration,
        total_steps=progress.total_steps,
        timesteps=config.run.timesteps,
        experiences=sum(part.rollout.experiences for part in everything),
        phase_s=dict(phases),
        elapsed_s=progress.elapsed_s,
        limit_s=config.run.max_minutes * 60 if config.run.max_minutes else None,
        update=update,
        play=summarise(collected),
        zero_sum_error=zero_sum_error(everything),
        opponents=met(collected),
        exploiters={role: score for role, parts in (others or {}).items() if (score := mean_score(parts)) is not None},
        restarts=progress.restarts,
        late=progress.late if session.game.live else None,
        dropped=progress.dropped if session.game.live else None,
        abandoned=Worker.abandoned,
        tasks=progress.tasks,
        cuda_used=torch.cuda.memory_allocated(session.device) if cuda else None,
        cuda_peak=torch.cuda.max_memory_allocated(session.device) if cuda else None,
        elo=rater.newest_elo if rater else None,
        gate=rater.gate_report() if rater else None,
    )
