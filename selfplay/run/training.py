"""Interface between the training loop and an algorithm: learners, runners, rating games, and the iteration.

The training loop, the supervision tree, the rating games and the saving of states are the same for PPO and GRPO.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from selfplay.errors import RunnerError
from selfplay.runner.work_queue import WaitLimits
from selfplay.supervision import ParkPolicy

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.config.base import GuardConfig, SelfPlaySettings
    from selfplay.report.reporter import Feed
    from selfplay.run.disk import DiskWatch
    from selfplay.run.learner_state import Arrays
    from selfplay.run.progress import Progress
    from selfplay.run.rating_games import RatingGames, RatingPlan
    from selfplay.run.stopping import Stop
    from selfplay.runner.game_runner import Resource, SlowOpening
    from selfplay.runner.work_queue import WorkQueue
    from selfplay.runner.worker import Worker
    from selfplay.supervision import ChildSpec

PARK: Final = ParkPolicy(max_restarts=10, period_s=60.0)
PARK_ELSEWHERE: Final = ParkPolicy(max_restarts=3, period_s=300.0)
"""Runners whose games are on other machines: an attempt takes a while to fail if none has room."""
NODES_BACK_S: Final = 600.0  # for one of a cluster's nodes to come back where all with games are gone
BEGINNING_S: Final = 10.0  # for runners that are all parked before any gave a segment: it is likely a mistake

C = TypeVar("C")  # data collected by an iteration
U = TypeVar("U")  # the metrics of an update
Best = Callable[[], Awaitable["str | None"]]


class Settings(Protocol):
    """The settings that all runs have."""

    @property
    def run(self) -> SelfPlaySettings: ...  # folder, length and save points of the run

    @property
    def guard(self) -> GuardConfig: ...  # limits beyond which a run is ended

    def model_dump(self, *, mode: str = ...) -> dict[str, Any]: ...


class RunSession(Protocol):
    """One call of the trainer: a run, new or resumed."""

    @property
    def config(self) -> Settings: ...

    @property
    def run(self) -> RunDir: ...

    @property
    def device(self) -> str: ...  # Torch device of the learner

    @property
    def resumed(self) -> LearnerState | None: ...  # that the run continues from; None for a new run

    @property
    def film_flags(self) -> Sequence[str] | None: ...  # of ``selfplay watch``; None: it cannot show the policies

    @property
    def packages(self) -> tuple[str, ...]: ...

    @property
    def document(self) -> dict[str, Any]: ...


def patience(park: ParkPolicy, ray_address: str | None) -> WaitLimits:
    """Time limits of a run while all its runners are parked; parked runners are retried."""
    nodes_s = NODES_BACK_S if ray_address else 0.0
    return WaitLimits(max(BEGINNING_S, nodes_s), max(park.period_s, nodes_s))


@dataclass(frozen=True, slots=True)
class Runners:
    """The runners that play the training games of a run."""

    names: Sequence[str]
    queue: WorkQueue[Any]  # where they take jobs and deliver results
    park: ParkPolicy  # when the supervisor parks one that keeps failing
    open: Callable[[str, int], Resource]
    """Opens what a runner works on, such as a block of games: ``(runner, incarnation)``, in the runner's thread."""
    opening: SlowOpening | None = None
    services: tuple[ChildSpec, ...] = ()  # children of the root that start before the runners


class Learners(ABC):
    """The policies that a run trains, and the generations that are frozen of them.

    Methods are called from the event loop; blocking work goes to ``worker``.
    """

    freeze_before_last_state: ClassVar[bool] = False
    """True if the last state contains the last generation; opponents are then drawn from those of save points only."""

    worker: Worker

    @abstractmethod
    async def open(self) -> None:
        """Make the learners for one incarnation of the training loop. ``worker`` is set before the call."""

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def restore(self, state: LearnerState) -> None:
        """Load a state: learners, generations and what else continues. Counters that all runs have are restored."""

    @abstractmethod
    async def freeze(self) -> None:
        """Save the current weights as a generation, and name it in ``progress.newest``."""

    @abstractmethod
    async def add_generation(self, collected: Any, disk: DiskWatch, rating: RatingGames | None, best: Best) -> None:  # noqa: ANN401
        """Freeze the weights at a save point, with what else is kept of the iteration in ``collected``."""

    @abstractmethod
    async def state(self) -> tuple[dict[str, Any], Arrays]:
        """Fields of ``LearnerMeta`` that depend on the algorithm (``extra`` among them), and all arrays."""

    async def sweep(self) -> None:  # noqa: B027
        """Delete files that no state needs any more."""

    @abstractmethod
    def close(self) -> None: ...


@dataclass(eq=False)
class Training(ABC, Generic[C, U]):
    """How the iterations of a run go. One object per call of the trainer.

    Methods are called from the event loop; blocking work goes to the ``worker`` of the learners.
    """

    session: RunSession
    feed: Feed
    stop: Stop  # set when the run shall end after the current iteration
    progress: Progress
    learners: Learners
    runners: Runners
    rating: RatingPlan | None  # None where nothing is rated
    failure: Exception | None = None  # ends the run before its planned end

    def __post_init__(self) -> None:
        self.run, self.resumed, self.settings = self.session.run, self.session.resumed, self.session.config

    @property
    def worker(self) -> Worker:
        return self.learners.worker

    def stopped_short(self) -> bool:
        """Whether an update in progress is to end now. From any thread."""
        return self.stop.is_cut

    @property
    @abstractmethod
    def iterations(self) -> int | None:
        """Planned iterations; None where another limit ends the run."""

    @abstractmethod
    async def collect(self) -> C | None:
        """Play one iteration; None where the run ends before there is anything to learn from.

        ``failure`` says why it ends, unless the user has stopped it.
        """

    async def play_ahead(self) -> Callable[[], Coroutine[object, None, C | None]] | None:
        """Return what plays the next iteration with the current weights; None if games wait for the update."""
        return None

    @abstractmethod
    async def update(self, collected: C, disk: DiskWatch) -> U: ...

    @abstractmethod
    def count(self, collected: C) -> int:
        """Count one iteration in ``progress``; returns its steps."""

    @abstractmethod
    def report(self, collected: C, update: U, phases: Mapping[str, float], rating_games: RatingGames | None) -> Any:  # noqa: ANN401
        """The record of the iteration that ``progress`` has just counted, for the reporters."""

    def observe(self, report: Any) -> Mapping[str, object]:  # noqa: ANN401
        """The figures of a report that the rules of health look at."""
        return {"iteration": report.iteration, **report.flat()}

    async def after(self, report: Any) -> None:  # noqa: ANN401
        """Called after an iteration was reported."""

    def release(self, collected: C) -> None:
        """Give back the buffers of an iteration; nothing may read what was collected afterwards."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Values of this training in ``summary.json``. May block to evaluate the last generation."""

    @abstractmethod
    def played(self) -> str:
        """Amount of play, for the last line of output, such as ``1,024 steps``."""

    def next_steps(self) -> list[str]:
        return []

    def give_up(self) -> None:
        """End a run whose runners are all parked and have not delivered while the queue waited; not if it is stopped.

        A learner that fails instead would be restarted, and play the iteration with other opponents: where those happen
        to work, the failures of all runners are forgiven, and the run fails forever.
        """
        if self.stop.is_set():
            return
        self.failure = RunnerError(f"every runner fails again and again; first cause: {self._first_cause()}")
        self.progress.ended_by = "games that fail"

    def fail_without_iteration(self) -> None:
        """End a run whose time is over before an iteration has ended."""
        self.failure = self.failure or RunnerError(
            f"--max-minutes is over before an iteration has ended; first cause: {self._first_cause()}"
        )

    def _first_cause(self) -> str:
        why = next(iter(self.runners.queue.given_up.values()), self.progress.first_failure)
        return why or "no runner delivered its games"

    def tell_stragglers(self, what: str) -> None:
        """Give notice of runners that were slow to deliver ``what``."""
        queue = self.runners.queue
        usual = queue.median_s or 0.0
        for runner, seconds in queue.take_stragglers().items():
            self.feed.notice(f"{runner} took {seconds:.1f} s for {what}; {usual:.1f} s is usual")
            self.progress.chaos.noticed(runner, "slow")
