"""The training loop: a supervised child that collects, updates, rates, saves and reports, iteration by iteration.

When it crashes, its supervisor starts it again and it continues from the last checkpoint; runners keep their games.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import LearnerState, RunDir, load_latest_learner, set_aside_newer
from selfplay.errors import CorruptError, IncompatibleError, LeagueError, NotARunError, SelfPlayError
from selfplay.run.disk import RATINGS, DiskWatch
from selfplay.run.films import films_of
from selfplay.run.progress import Phases
from selfplay.run.saving import Saving
from selfplay.run.stopping import COLLECT, RATE, REPORT, SAVE, START, UPDATE
from selfplay.runner.worker import Worker
from selfplay.supervision import wait_any
from selfplay.supervision.tasks import spawn

if TYPE_CHECKING:
    from selfplay.report.health import HealthFinding
    from selfplay.run.progress import Progress
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.stopping import Overtime, Stop
    from selfplay.run.training import Training
    from selfplay.supervision import Context


@dataclass(eq=False)
class TrainingLoop:
    """Makes the learner child."""

    training: Training[Any, Any]
    rating_games: RatingGames | None  # None where nothing is rated
    stop: Stop  # set when the run shall end after the current iteration
    overtime: Overtime  # limits that iteration
    start_runners: Callable[[], Coroutine[object, None, None]]  # starts missing ones
    has_begun: bool = False  # its child was started once
    refused: SelfPlayError | None = None  # why the state of a resumed run cannot be used
    _last: Any = None  # the last report
    _first: int = 0  # iteration at which this session begins
    _ahead: asyncio.Task[Any] | None = None  # plays the next iteration during an update

    def __post_init__(self) -> None:
        training = self.training
        self.disk = DiskWatch(training.feed.notice)
        self._films = films_of(training.session, training.feed)

    @property
    def progress(self) -> Progress:
        return self.training.progress

    async def run(self, ctx: Context) -> None:
        training, learners, worker = self.training, self.training.learners, Worker(ctx.id)
        ctx.ready()
        if not self.has_begun:
            self.has_begun = True
            self._begin_time()
        self.progress.phase = START
        training.runners.queue.forget()
        learners.worker = worker
        saving = Saving(training, self.rating_games, self.disk)
        try:
            await learners.open()
            state = training.resumed if ctx.incarnation == 1 else await worker.submit(_latest, training.run)
            await worker.submit(set_aside_newer, training.run, -1 if state is None else state.meta.iteration)
            if state is None:
                await learners.begin()
                await saving.write_state()
            else:
                self.progress.restore(state.meta, resumed=state is training.resumed)
                try:
                    await learners.restore(state)
                    saving.restore(state.meta)
                except (CorruptError, IncompatibleError, LeagueError) as error:
                    if state is not training.resumed:
                        raise
                    # A restart would only read the same again.
                    self.refused = IncompatibleError(f"{state.path} cannot be used: {error}")
                    return
            await self._unless_stopped(ctx, self.start_runners())
            await self._train(saving)
        finally:
            if self._ahead is not None:
                self._ahead.cancel()
                self._ahead = None
            learners.close()
            worker.close()

    def _begin_time(self) -> None:
        minutes, resumed = self.training.settings.run.max_minutes, self.training.resumed
        self._first, elapsed_s = (0, 0.0) if resumed is None else (resumed.meta.iteration, resumed.meta.elapsed_s)
        self.overtime.begin(math.inf if minutes is None else 60 * minutes - elapsed_s)

    async def _unless_stopped(self, ctx: Context, work: Coroutine[object, None, None]) -> None:
        """Do something that is not worth waiting for once the run is to end."""
        tasks: list[asyncio.Task[Any]] = [spawn(work, "start"), spawn(self.stop.wait(), "stop")]
        try:
            await wait_any(ctx.clock, tasks)
            if tasks[0].done():
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()

    async def _train(self, saving: Saving) -> None:
        if self._done() and not self.stop.is_set():
            self.training.feed.notice(
                "The run has reached its end; --timesteps, --games or --max-minutes can put it further away"
            )
        while not self._done():
            await self._iterate(saving)
        if self._ahead is not None:  # its games go on when the run is resumed
            self._ahead.cancel()
            await asyncio.wait({self._ahead})
            self._ahead = None
        if self.overtime.has_cut and self.progress.iteration == self._first:
            self.training.fail_without_iteration()
        await self._finish(saving)

    async def _iterate(self, saving: Saving) -> None:
        """One iteration. At its end the rollout buffers are free for the next one."""
        training, progress = self.training, self.progress
        phases = Phases(progress)
        progress.phase = COLLECT
        collected = await self._collect()
        phases.end("collect")
        if collected is None or self.stop.is_cut:
            return
        progress.phase = UPDATE
        await self._play_ahead(saving)
        update = await training.update(collected, self.disk)
        phases.end("update")
        progress.iteration += 1
        progress.total_steps += training.count(collected)
        if self.rating_games is not None:
            progress.phase = RATE
            with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                await self.rating_games.rate_if_due(progress)
            phases.end("rate")
        if saving.is_due(progress.iteration):  # last: a checkpoint is of a whole iteration
            progress.phase = SAVE
            await saving.save(collected)
            phases.end("save")
            if self._films is not None:
                self._films.take(progress.total_steps)
        progress.phase, progress.longest_s = REPORT, max(progress.longest_s, sum(phases.seconds.values()))
        self._report(collected, update, phases.seconds)
        training.release(collected)
        await training.after(self._last)

    async def _collect(self) -> Any:  # noqa: ANN401
        ahead, self._ahead = self._ahead, None
        return await (self.training.collect() if ahead is None else ahead)

    async def _play_ahead(self, saving: Saving) -> None:
        """Begin the next iteration before the update, except at save points, for a state is of whole iterations."""
        after = self.progress.iteration + 1
        if self.stop.is_set() or self._ends_at(after) or saving.is_due(after):
            return
        if (play := await self.training.play_ahead()) is not None:
            self._ahead = spawn(play(), "collect")

    async def _finish(self, saving: Saving) -> None:
        """Save the last state, whatever the interval, and rate it."""
        progress, progress.phase = self.progress, SAVE
        if not self.stop.is_set():
            self.overtime.close()  # all that follows has limits of its own
        await saving.save_last()
        self._tell(progress.health.end())
        progress.finished = not self.stop.is_set() and self.training.failure is None
        if self.rating_games is not None and progress.finished:
            progress.phase = RATE
            self.training.feed.notice(f"Rating {progress.newest}, the last generation")
            with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                await self.rating_games.rate_last(progress)
            if self._last is not None and self._last.rating is not self.rating_games.rating:
                self.training.feed.rated(self._last.model_copy(update={"rating": self.rating_games.rating}))
            if not self.rating_games.plan.deterministic:  # a later end of equal runs makes no difference
                progress.phase = SAVE
                await saving.checkpoint()
        await self._track_last()

    async def _track_last(self) -> None:
        """Hand the newest policy to the trackers, and of a run that has ended its film."""
        training, progress = self.training, self.progress
        if not training.feed.tracking:
            return
        folder = training.run.generations / progress.newest
        training.feed.tracking.policy(progress.total_steps, progress.newest, folder)
        if self._films is not None and progress.finished:
            await training.worker.submit(self._films.take_last, progress.total_steps)

    def _done(self) -> bool:
        run, progress = self.training.settings.run, self.progress
        return (
            self.stop.is_set()
            or (self.overtime.is_over and progress.iteration > self._first)  # the first has a while
            or self._ends_at(progress.iteration)
            or (run.timesteps is not None and progress.total_steps >= run.timesteps)
            or (run.max_minutes is not None and progress.elapsed_s >= 60 * run.max_minutes)
        )

    def _ends_at(self, iteration: int) -> bool:
        planned = self.training.iterations
        return self.training.failure is not None or (planned is not None and iteration >= planned)

    def _report(self, collected: object, update: object, phases: Mapping[str, float]) -> None:
        training = self.training
        self.progress.tasks = len(asyncio.all_tasks())
        self._last = report = training.report(collected, update, phases, self.rating_games)
        training.feed.iteration(report)
        self._tell(self.progress.health.observe(training.observe(report)))

    def _tell(self, findings: Iterable[HealthFinding]) -> None:
        for finding in findings:
            self.training.feed.notice(f"Health: {finding.text}")


def _latest(run: RunDir) -> LearnerState | None:
    """The state that a crashed loop continues from; None before the first checkpoint."""
    with suppress(NotARunError):
        return load_latest_learner(run)
    return None
