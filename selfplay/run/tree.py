"""The supervision tree of a training run.

root  rest_for_one
  ...        services of the runners, such as a server that writes replies
  ledger     permanent  the one writer of the ledger; only where games are rated
  runners    permanent  a pool; the learner starts its children
    runner-000 ..       training games
    rater-000           rating games
  learner    transient, significant: its normal end is the end of the run
  reporting  permanent, a supervisor with a budget of its own: a broken terminal ends nothing else
    feed     transient
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.store import writing
from selfplay.report.files import write_ratings
from selfplay.report.trackers.find import TENSORBOARD
from selfplay.run.ledger import RunLedger
from selfplay.run.loop import TrainingLoop
from selfplay.run.monitoring.supervision_notices import SupervisionNotices
from selfplay.run.rating_games import RATER, RatingBlock, RatingGames
from selfplay.run.stopping import Overtime
from selfplay.run.training import PARK
from selfplay.runner.game_runner import GameRunner
from selfplay.runner.work_queue import FIRST_TIMEOUT_S, WorkQueue
from selfplay.supervision import (
    SHUTDOWN,
    ChildSpec,
    Context,
    MonotonicClock,
    ParkPolicy,
    Pool,
    PoolSpec,
    Supervisor,
    SupervisorSpec,
)

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.run.stopping import Stop
    from selfplay.run.training import Training

ROOT_PARK: Final = ParkPolicy(max_restarts=3, period_s=60.0, backoff_s=2.0, max_times=4)
"""Children of the root, such as the learner: one that still fails after half a minute ends the run."""
GRACE_S: Final = 30.0  # for the learner to end the iteration it is in


class Tree:
    """Everything of a run, wired together. Built inside the event loop."""

    def __init__(self, training: Training[Any, Any], stop: Stop) -> None:
        self.training = training
        runners, rating, resumed = training.runners, training.rating, training.resumed
        stop.listeners += [runners.queue.end, self._stop_start]
        self._rating_queue: WorkQueue[RatingBlock] = WorkQueue([RATER], limits=rating.limits if rating else None)
        keep_rows = None
        if resumed is not None and rating is not None and rating.deterministic:
            keep_rows = resumed.meta.ledger_position  # later games are played again
        self._ledger = RunLedger(training.run.ledger, keep_rows)
        self.rating_games: RatingGames | None = None
        if rating is not None:
            self.rating_games = RatingGames(
                training.run, rating, self._ledger, self._rating_queue, training.feed.notice, self._publish
            )
        stop.cut_listeners += [runners.queue.cut, self._rating_queue.cut]
        notice = training.feed.notice
        self.overtime = Overtime(stop, training.progress, MonotonicClock(), notice, lambda: self.root.finish(SHUTDOWN))
        self.loop = TrainingLoop(training, self.rating_games, stop, self.overtime, self.start_runners)
        queues: dict[str, WorkQueue[Any]] = dict.fromkeys(runners.names, runners.queue) | {RATER: self._rating_queue}
        self.announcer = SupervisionNotices(training.feed.notice, queues, self._count_restart, training.run.crashes)
        self.root = Supervisor(self._spec(), on_report=self.announcer.on_report)

    def _spec(self) -> SupervisorSpec:
        """The root: children after one that failed depend on it, and the learner's end is the end of the run."""
        runners = self.training.runners
        budget = 10 * (len(runners.names) + 1) * runners.park.period_s / PARK.period_s
        feed = SupervisorSpec(children=(ChildSpec("feed", self._deliver, restart="transient"),), intensity=100)
        pool = PoolSpec(intensity=round(budget), period_s=runners.park.period_s, park=runners.park)
        children = (
            *runners.services,
            *(() if self.rating_games is None else (ChildSpec("ledger", self._ledger.run),)),
            ChildSpec("runners", pool),
            ChildSpec("learner", self.loop.run, restart="transient", significant=True, shutdown_s=GRACE_S),
            ChildSpec("reporting", feed),
        )
        return SupervisorSpec(
            children=children, strategy="rest_for_one", auto_shutdown="any_significant", park=ROOT_PARK,
            intensity=ROOT_PARK.max_restarts * len(children), period_s=ROOT_PARK.period_s,
        )  # fmt: skip

    def _stop_start(self) -> None:
        """Do not wait for services that start before the learner."""
        if not self.loop.has_begun:
            self.root.finish(SHUTDOWN)

    async def start_runners(self) -> None:
        """Start the runners that the pool does not have: all of them, unless only the learner was restarted."""
        runners, rating = self.training.runners, self.training.rating
        pool = self.root.find("runners", Pool)
        there = {child.id for child in pool.which_children()}
        runner = GameRunner(runners.queue, runners.open, runners.opening)
        for name in runners.names:
            if name not in there:
                await pool.start_child(ChildSpec(name, runner.run, start_timeout_s=FIRST_TIMEOUT_S))
        if rating is not None and RATER not in there:
            rating_runner = GameRunner(self._rating_queue, lambda *_: rating.open())
            await pool.start_child(ChildSpec(RATER, rating_runner.run))

    async def _deliver(self, ctx: Context) -> None:
        ctx.ready()
        await self.training.feed.run()

    def _publish(self, board: Leaderboard, total_steps: int) -> None:
        """Report a new table of ratings. Blocks."""
        training, events = self.training, self.training.run.rating_events
        if TENSORBOARD in training.settings.run.report_to:
            with writing(f"cannot write {events}"):
                write_ratings(events, board, total_steps)
        training.feed.tracking.ratings(board, total_steps)

    def _count_restart(self, runner: str, why: str) -> None:
        if runner in self.training.runners.names:
            self.training.progress.restarts += 1
            self.training.progress.first_failure = self.training.progress.first_failure or f"{runner}: {why}"
        self.training.progress.chaos.failed(runner)
