"""Interface of a family of games: how it collects, learns, freezes, reports and rates.

The training loop, the supervision tree, the rater and the saving of states are the same for all families.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from selfplay.league.records import generation_id
from selfplay.train.disk import GENERATION
from selfplay.train.progress import Progress, chaos_of

if TYPE_CHECKING:
    import asyncio

    from selfplay.checkpoint import LearnerMeta, LearnerState, RunDir
    from selfplay.config.base import GuardConfig, SelfPlaySettings
    from selfplay.report.health import HealthMonitor
    from selfplay.report.reporter import Feed
    from selfplay.runner.game_runner import Resource, SlowOpening
    from selfplay.runner.work_queue import Limits, WorkQueue
    from selfplay.runner.worker import Worker
    from selfplay.supervision import ChildSpec, ParkPolicy
    from selfplay.train.disk import DiskWatch
    from selfplay.train.learner_state import Arrays
    from selfplay.train.ledger_keeper import LedgerKeeper
    from selfplay.train.rater import Rater, RaterResource

C = TypeVar("C")  # data collected by an iteration
U = TypeVar("U")  # the metrics of an update
Best = Callable[[], Awaitable["str | None"]]


class Settings(Protocol):
    """The settings that runs of all families have."""

    @property
    def run(self) -> SelfPlaySettings:
        """Folder, length and save points of the run."""

    @property
    def guard(self) -> GuardConfig:
        """Limits beyond which a run is ended."""

    def model_dump(self, *, mode: str = ...) -> dict[str, Any]:
        """All settings, as in a run's documents."""


class RunSession(Protocol):
    """One call of the trainer: a run, new or resumed."""

    @property
    def config(self) -> Settings: ...

    @property
    def run(self) -> RunDir: ...

    @property
    def device(self) -> str:
        """Torch device of the learner."""

    @property
    def resumed(self) -> LearnerState | None:
        """The state that the run continues from; None for a new run."""

    @property
    def packages(self) -> tuple[str, ...]: ...

    @property
    def document(self) -> dict[str, Any]: ...


class Family(ABC, Generic[C, U]):
    """The part of a run that depends on its family of games. One object per call of the trainer.

    Methods are called from the event loop; blocking work goes to ``worker``.

    Args:
        queue: Where runners take jobs and deliver results.
        park: When the supervisor of the runners parks one that keeps failing.
        stop: Set when the run shall end after the current iteration.
        health: Rules that watch the iterations.
    """

    keeps_last_ratings: bool = True  # save a last state after the rating of the last generation
    freeze_before_last_state: ClassVar[bool] = False
    """True if the last state contains the last generation; must be False if opponents are drawn from generations."""

    worker: Worker

    def __init__(
        self,
        session: RunSession,
        queue: WorkQueue[Any],
        park: ParkPolicy,
        feed: Feed,
        stop: asyncio.Event,
        health: HealthMonitor,
    ) -> None:
        self.run = session.run
        self.resumed = session.resumed
        self.settings = session.config
        self.queue = queue
        self.park = park
        self.feed = feed
        self.stop = stop
        self.progress = Progress(chaos_of(session.config.run, session.resumed), health)
        self.failure: Exception | None = None  # ends the run before its planned end

    # ---- training

    @property
    @abstractmethod
    def iterations(self) -> int | None:
        """Planned iterations; None where another limit ends the run."""

    @abstractmethod
    async def open(self) -> None:
        """Make the learners for one incarnation of the training loop. ``worker`` is set before the call."""

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def restore(self, state: LearnerState) -> None:
        """Load a state: learners, generations and what else continues. Counters that all runs have are restored."""

    @abstractmethod
    async def collect(self) -> C | None:
        """Play one iteration; None where the run ends before there is anything to learn from.

        Raises:
            RunnerError: no runner delivers.
        """

    @abstractmethod
    async def update(self, collected: C, disk: DiskWatch) -> U: ...

    @abstractmethod
    def count(self, collected: C) -> int:
        """Count one iteration in ``progress``; returns its steps."""

    @abstractmethod
    def report(self, collected: C, update: U, phases: Mapping[str, float], rater: Rater | None) -> Any:  # noqa: ANN401
        """The record of the iteration that ``progress`` has just counted, for the reporters."""

    def observe(self, report: Any) -> Any:  # noqa: ANN401
        return report

    async def after(self, report: Any) -> None:  # noqa: ANN401
        """Called after an iteration was reported."""

    def release(self, collected: C) -> None:
        """Give back the buffers of an iteration; nothing may read what was collected afterwards."""

    @abstractmethod
    def close(self) -> None: ...

    def tell_stragglers(self, what: str) -> None:
        """Give notice of runners that were slow to deliver ``what``."""
        usual = self.queue.median_s or 0.0
        for runner, seconds in self.queue.take_stragglers().items():
            self.feed.notice(f"{runner} took {seconds:.1f} s for {what}; {usual:.1f} s is usual")
            self.progress.chaos.noticed(runner, "slow")

    # ---- saving

    @abstractmethod
    async def freeze(self) -> None:
        """Save the current weights as a generation, and name it in ``progress.newest``.

        Raises:
            DiskError: it cannot be written.
            LearnerError: a weight is not finite.
        """

    async def add_generation(self, collected: C, disk: DiskWatch, rater: Rater | None, best: Best) -> None:
        del collected, rater, best
        with disk.tolerate(GENERATION):
            await self.freeze()

    @abstractmethod
    async def state(self) -> tuple[dict[str, Any], Arrays]:
        """Fields of ``LearnerMeta`` that depend on the family (``extra`` among them), and all arrays."""

    async def sweep(self) -> None:
        """Delete files that no state needs any more."""

    @property
    def is_last_saved(self) -> bool:
        """True if the current iteration is saved as a generation and as a state."""
        progress = self.progress
        return progress.newest == generation_id(progress.iteration) and progress.saved == progress.iteration

    # ---- runners

    @property
    @abstractmethod
    def runners(self) -> Sequence[str]: ...

    def children(self) -> tuple[ChildSpec, ...]:
        """Children of the root that start before all others."""
        return ()

    @abstractmethod
    def open_runner(self, runner: str, incarnation: int) -> Resource:
        """Open the resource of a runner, such as a block of games. Called in the runner's thread."""

    @property
    def opening(self) -> SlowOpening | None:
        return None

    # ---- ratings

    @abstractmethod
    def make_rater(self, ledger: LedgerKeeper, queue: WorkQueue[RaterResource]) -> Rater | None:
        """The rater of the run; None where nothing is rated."""

    @abstractmethod
    def open_rater(self) -> RaterResource:
        """Open the resource of the rating runner. Called in its thread."""

    @property
    @abstractmethod
    def rating_limits(self) -> Limits | None: ...

    @property
    def ledger_rows(self) -> int | None:
        """Rows of the ledger that a resumed run keeps; None for all."""
        return None

    # ---- the end

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Values of this family in ``summary.json``. May block to evaluate the last generation."""

    @abstractmethod
    def played(self) -> str:
        """Amount of play, for the last line of output, such as ``1,024 steps``."""

    def next_steps(self) -> list[str]:
        return []


def restored_counters(progress: Progress, meta: LearnerMeta, *, resumed: bool) -> None:
    """Set the counters that all runs have.

    Args:
        progress: Is changed.
        meta: Of the state.
        resumed: Whether the run is resumed. A loop that was restarted within a run keeps its count of restarts.
    """
    progress.iteration, progress.total_steps = meta.iteration, meta.total_steps
    progress.elapsed_s, progress.saved = meta.elapsed_s, meta.iteration
    if resumed:
        progress.restarts = int(str(meta.extra.get("restarts", 0)))
