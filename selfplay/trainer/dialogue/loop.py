"""The training loop of self-play in words: play whole groups, learn from them, freeze, report.

Both seats are the policy as it is now: nobody learns while anybody plays, so that runners and learner share one model.
When the loop crashes its supervisor starts it again, and it goes on from the last checkpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.checkpoint import LearnerState, load_latest_learner, set_aside_newer
from selfplay.checkpoint.store import fill_folder
from selfplay.errors import NotARunError, RunnerError, ServerError
from selfplay.policy.policy import parameters_of
from selfplay.report.dialogue_health import DialogueHealth
from selfplay.rollout.dialogue import grouped, scored
from selfplay.runner.board import Board, Job
from selfplay.runner.dialogue import NOT_FINITE, Lost, Played
from selfplay.runner.worker import Worker
from selfplay.seeding import derive
from selfplay.trainer.dialogue.iteration import iteration_report
from selfplay.trainer.dialogue.learning import make_learner
from selfplay.trainer.dialogue.saving import WordsSaving
from selfplay.trainer.disk import RATINGS, DiskWatch
from selfplay.trainer.learner_state import restore_learner
from selfplay.trainer.progress import Phases, Progress, chaos_of

if TYPE_CHECKING:
    from selfplay.learner.grpo import GRPOLearner, GRPOStatistics
    from selfplay.report.reporter import Feed
    from selfplay.runner.chaos import Chaos
    from selfplay.runner.collector import Order
    from selfplay.runner.hosted_words import Published, Words
    from selfplay.supervision import Context
    from selfplay.trainer.dialogue.rater import WordsRater
    from selfplay.trainer.dialogue.session import WordsSession

WEIGHTS: Final = "the weights for the server"
SERVED: Final = "serving"  # in a run's folder: the weights of now, for a server


class WordsLoop:
    """Makes the learner child.

    Args:
        session: What is trained.
        board: Runners.
        rater: Plays rating games; None where nothing is rated.
        feed: Is told what happens.
        stop: Set when the run shall end after the iteration in progress.
        start_runners: Makes sure that there are runners.
        weights: Of now, for runners that are elsewhere; None: they share the learner's model.
    """

    def __init__(
        self,
        session: WordsSession,
        board: Board[Words],
        rater: WordsRater | None,
        feed: Feed,
        stop: asyncio.Event,
        start_runners: Callable[[], Awaitable[None]],
        weights: Published | None = None,
    ) -> None:
        self.session = session
        self.progress = Progress(chaos_of(session.config.run, session.resumed))
        self.failure: ServerError | None = None  # that ended the run before its end
        self._told_unknown = False
        self.health = DialogueHealth()
        self.disk = DiskWatch(feed.notice)
        self._board = board
        self._rater = rater
        self._feed = feed
        self._stop = stop
        self._start_runners = start_runners
        self._weights = weights
        self._generator = torch.Generator()
        self._learner: GRPOLearner | None = None

    @property
    def _run(self) -> Any:  # noqa: ANN401
        return self.session.config.run

    async def run(self, ctx: Context) -> None:
        """The child: trains to the end of the run, then returns."""
        worker = Worker(ctx.id)
        ctx.ready()
        self._board.forget()
        learner = self._learner = await worker.submit(make_learner, self.session)
        try:
            state = self.session.resumed if ctx.incarnation == 1 else await worker.submit(_latest, self.session)
            kept = -1 if state is None else state.meta.iteration
            await worker.submit(set_aside_newer, self.session.run, kept)
            at_work = (self._generator, self.progress, self._rater, worker, self.disk)
            saving = WordsSaving(self.session, learner, *at_work)
            if state is None:
                self._generator.manual_seed(derive(self._run.seed, "learner") % 2**63)
                await saving.begin()
            else:
                await worker.submit(self._continue, state)
            await self._start_runners()
            await self._train(worker, saving)
        finally:
            worker.submit(learner.close)
            worker.close()

    @property
    def learner(self) -> GRPOLearner:
        """Of the run that goes on."""
        if self._learner is None:
            raise RunnerError("the loop has not begun")
        return self._learner

    def _continue(self, state: LearnerState) -> None:
        meta, progress = state.meta, self.progress
        restore_learner(self.learner, self._generator, state.arrays)
        extra: Any = meta.extra
        progress.iteration, progress.total_steps, progress.elapsed_s = meta.iteration, meta.total_steps, meta.elapsed_s
        progress.generations, progress.newest = list(meta.generations), meta.generations[-1]
        progress.saved = meta.iteration
        progress.games, progress.lost = extra["games"], extra["lost"]
        if state is self.session.resumed:  # a loop that crashed has counted on
            progress.restarts = extra["restarts"]
        if self.learner.baseline is not None:
            self.learner.baseline.restore(extra["baseline"])
        if self._rater is not None:
            self._rater.restore(extra)

    async def _train(self, worker: Worker, saving: WordsSaving) -> None:
        progress = self.progress
        if self._done() and not self._stop.is_set():
            self._feed.notice("The run has reached its end; --games or --timesteps can put it further away")
        while not self._done():
            phases = Phases(progress)
            played = await self._collect(worker)
            phases.end("collect")
            if self.failure is not None:
                break
            update = await worker.submit(self._update, played)
            with self.disk.tolerate(WEIGHTS):
                await self._publish(worker)
            phases.end("update")
            progress.iteration += 1
            progress.total_steps += sum(len(game.turns) for game in played)
            progress.games += len(played)
            if self._rater is not None:
                with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                    await self._rater.rate_if_due(progress)
                phases.end("rate")
            if saving.is_due:
                await saving.save(played)
                phases.end("save")
            self._report(played, update, phases.seconds)
        await saving.save_last()
        progress.finished = not self._stop.is_set() and self.failure is None
        if self._rater is not None and progress.finished:
            self._feed.notice("Rating the last generation ...")
            with self.disk.tolerate(RATINGS, settles=False):  # games that wait are written with the next state
                await self._rater.rate_last(progress)
            await saving.checkpoint()

    def _done(self) -> bool:
        run, progress = self._run, self.progress
        iterations = self.session.config.iterations
        return (
            self._stop.is_set()
            or (iterations is not None and progress.iteration >= iterations)
            or (run.timesteps is not None and progress.total_steps >= run.timesteps)
            or (run.max_minutes is not None and progress.elapsed_s >= 60 * run.max_minutes)
        )

    async def _collect(self, worker: Worker) -> list[Played]:
        """An iteration's games; none where their server has failed for good."""
        if self._weights is not None:
            moving = await worker.submit(partial(parameters_of, self.session.model.module, moving=True))
            await worker.submit(self._weights.publish, moving)
        orders = self.session.orders(self.progress.iteration)
        chaos = self.progress.chaos
        iteration = self.progress.iteration
        jobs = {
            runner: Job(partial(_play, runner=runner, iteration=iteration, order=order, chaos=chaos))
            for runner, order in orders.items()
        }
        results = await self._board.ask(jobs)
        self.failure = next((found for found in results.values() if isinstance(found, ServerError)), None)
        if self.failure is not None:
            return []
        for runner, seconds in self._board.take_stragglers().items():
            self._feed.notice(
                f"{runner} took {seconds:.1f} s for its games; {self._board.median_s or 0:.1f} s is usual"
            )
            chaos.noticed(runner, "slow")
        for runner, found in results.items():
            if any(isinstance(game, Lost) and NOT_FINITE in game.why for game in found):
                chaos.noticed(runner, "nan")
        games: list[Played | Lost] = [game for runner in sorted(results) for game in results[runner]]
        lost = [game for game in games if isinstance(game, Lost)]
        if lost:
            self.progress.lost += len(lost)
            self._feed.notice(f"{len(lost)} games were lost; the first one: {lost[0].why}")
        played = [game for game in games if isinstance(game, Played)]
        if not played:
            why = lost[0].why if lost else next(iter(self._board.given_up.values()), "no runner delivered")
            raise RunnerError(f"no game came to its end; first cause: {why}")
        return played

    def _update(self, played: Iterable[Played]) -> GRPOStatistics:
        if self.session.config.grpo.anneal and self.session.config.iterations:
            done = self.progress.iteration / self.session.config.iterations
            self.learner.optimizer.param_groups[0]["lr"] = self.learner.settings.learning_rate * (1 - 0.9 * done)
        instances = [instance for game in played for instance in game.instances]
        if not self._told_unknown and any(not instance.known for instance in instances):
            self._told_unknown = True
            self._feed.notice("The server gives no log-probabilities: the model before each update scores its replies")
        return self.learner.update(grouped(scored(instances, self.learner.logprobs)), self._generator)

    async def _publish(self, worker: Worker) -> None:
        """A server of ours writes with the weights of now from here on."""
        server = self.session.server
        if server is not None:
            folder = self.session.run.path / SERVED
            await worker.submit(fill_folder, folder, self.session.model.save_merged, True)
            await server.reload(folder)

    def _report(self, played: list[Played], update: GRPOStatistics, phase_s: dict[str, float]) -> None:
        self.progress.tasks = len(asyncio.all_tasks())
        self.progress.speeds.append(len(played) / max(sum(phase_s.values()), 1e-9))
        elo = None if self._rater is None else self._rater.newest_elo
        report = iteration_report(self.session, self.progress, played, update, phase_s, elo)
        self._feed.iteration(report)
        for finding in self.health.observe({"iteration": report.iteration, **report.flat()}):
            self._feed.notice(f"Health: {finding.text}")


def _play(
    collector: Words, runner: str, iteration: int, order: Order, chaos: Chaos
) -> list[Played | Lost] | ServerError:
    """What a runner's thread does for an order, with what is to break in it."""
    try:
        games = collector.collect(order, chaos.draw(runner, iteration))
    except ServerError as error:  # no crash of a runner, which another could make good
        return error
    chaos.completed(runner)
    return games


def _latest(session: WordsSession) -> LearnerState | None:
    try:
        return load_latest_learner(session.run)
    except NotARunError:
        return None
