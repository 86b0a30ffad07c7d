"""Runs of dialogue games: whole groups of games, GRPO, both seats played by the current model, or one of them.

Collection and updates alternate, so runners and learner share one model.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast

import torch

from selfplay.dialogue.actors import Actors
from selfplay.dialogue.faulty import faulty
from selfplay.dialogue.instances import grouped, scored
from selfplay.dialogue.learning import TRANSCRIPTS, DialogueLearner
from selfplay.dialogue.link import DialogueGames, PublishedWeights
from selfplay.dialogue.opponents import leads_against
from selfplay.dialogue.players import writer_of
from selfplay.dialogue.rating import FrozenPlayers, play_dialogues
from selfplay.dialogue.report.health import DialogueHealth
from selfplay.dialogue.reports import dialogue_summary, iteration_report
from selfplay.dialogue.runner import NOT_FINITE, DialogueCollector, Lost, Played
from selfplay.dialogue.serving import ReplyServer
from selfplay.dialogue.tally import EVERY_S, Tally, tell_progress
from selfplay.dialogue.transcripts import keep_latest
from selfplay.errors import RunnerError, ServerError
from selfplay.policy.policy import parameters_of
from selfplay.run.progress import Progress, chaos_of
from selfplay.run.rating_games import RatingBlock, RatingPlan
from selfplay.run.training import PARK, PARK_ELSEWHERE, Runners, Training, patience
from selfplay.runner.chaos import CountedFaults
from selfplay.runner.work_queue import FIRST_TIMEOUT_S, Job, Limits, WorkQueue
from selfplay.supervision.tasks import spawn

if TYPE_CHECKING:
    from selfplay.dialogue.grpo import GRPOStatistics
    from selfplay.dialogue.report.plain import DialogueReport
    from selfplay.dialogue.runner import DialogueOrder
    from selfplay.dialogue.session import DialogueSession
    from selfplay.league.records import GameRecord
    from selfplay.league.schedule import Matchup
    from selfplay.report.reporter import Feed
    from selfplay.run.disk import DiskWatch
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.stopping import Stop
    from selfplay.runner.chaos import Chaos

WEIGHTS: Final = "the weights for the server"


class DialogueTraining(Training[list[Played], "GRPOStatistics"]):
    """Trains a run of dialogue games; see ``Training``."""

    def __init__(self, session: DialogueSession, feed: Feed, stop: Stop) -> None:
        cluster = session.cluster
        park = PARK if cluster is None else PARK_ELSEWHERE
        queue: WorkQueue[DialogueGames] = WorkQueue(
            session.runners,
            # Attempts to get a server's reply end within ``server.timeout``, after a wait of 30 s at most.
            max(FIRST_TIMEOUT_S, 2 * session.config.server.timeout),
            patience=patience(park, session.config.run.ray_address),
        )
        self.session: DialogueSession = session
        self._weights = None if cluster is None else PublishedWeights(cluster.put)
        self._actors = None if cluster is None or self._weights is None else Actors(session, cluster, self._weights)
        self._noticed_unknown = False
        self._replies = 0  # of the last iteration
        self._examples_at = 0.0  # when the games of an iteration are written next
        progress = Progress(chaos_of(session.config.run, session.resumed), DialogueHealth())
        self._learner = learner = DialogueLearner(session, progress, stop.is_set)
        runners = Runners(
            session.runners,
            queue,
            park,
            self._open_games,
            None if self._actors is None else self._actors.opening,
            services=(session.server.spec(),) if isinstance(session.server, ReplyServer) else (),
        )
        super().__init__(session, feed, stop, progress, learner, runners, _rating(session))

    @property
    def iterations(self) -> int | None:
        return self.session.config.iterations

    async def collect(self) -> list[Played] | None:
        server = self.session.server
        if server is not None and server.is_behind:
            await self._publish()
            if server.is_behind:  # it refused, or the run is to end
                return None
        if self._weights is not None:
            moving = await self.worker.submit(partial(parameters_of, self.session.model.module, trainable=True))
            await self.worker.submit(self._weights.publish, moving)
        opponents = await self.worker.submit(self._learner.draw)
        results = await self._play(self.session.orders(self.progress.iteration, opponents))
        failures = [found for found in results.values() if isinstance(found, ServerError)]
        if failures:
            self.failure = None if self.stop.is_set() else failures[0]
            return None
        self.tell_stragglers("its games")
        for runner, found in results.items():
            if any(isinstance(game, Lost) and NOT_FINITE in game.why for game in found):
                self.progress.chaos.noticed(runner, "nan")
        played = self._finished([game for runner in sorted(results) for game in results[runner]])
        self._learner.matchmaker.record(leads_against(played or ()), leads=True)
        return played

    async def _play(self, orders: Mapping[str, DialogueOrder]) -> dict[str, Any]:
        """Play the orders of an iteration, and tell how far they are."""
        progress = self.progress
        tallies = {runner: Tally() for runner in orders}
        jobs = {
            runner: Job(
                partial(_play, runner=runner, order=order, chaos=progress.chaos, tally=tallies[runner]),
                progress=attrgetter("progress"),
            )
            for runner, order in orders.items()
        }
        games = sum(len(order.indices) * order.games_each for order in orders.values())
        line = tell_progress(self.feed.playing, progress.iteration + 1, tallies.values(), games, self._replies)
        telling = spawn(line, "progress of the games")
        try:
            results = await self.runners.queue.ask(jobs)
        finally:
            telling.cancel()
        self._replies = sum(tally.replies for tally in tallies.values())
        return results

    def _finished(self, games: Sequence[Played | Lost]) -> list[Played] | None:
        """The finished games; lost ones are counted."""
        played = [game for game in games if isinstance(game, Played)]
        lost = [game for game in games if isinstance(game, Lost)]
        if lost:
            self.progress.lost += len(lost)
            self.feed.notice(f"{len(lost)} games were lost; the first one: {lost[0].why}")
        elif not played:
            self.give_up()
            return None
        if not played:
            if self.stop.is_set():
                return None
            raise RunnerError(f"no game was finished; first cause: {lost[0].why}")
        return played

    async def update(self, collected: list[Played], disk: DiskWatch) -> GRPOStatistics:
        """Learn, then send new weights to the server."""
        update = await self.worker.submit(self._update, collected)
        with disk.tolerate(WEIGHTS):
            await self._publish()
        now = time.monotonic()
        if now >= self._examples_at:  # each costs two flushes of the disk
            self._examples_at = now + EVERY_S
            iteration = self.progress.iteration + 1
            with disk.tolerate(TRANSCRIPTS):
                await self.worker.submit(keep_latest, self.run.path, collected, iteration, iteration)
        return update

    def _update(self, played: Sequence[Played]) -> GRPOStatistics:
        learner, iterations = self._learner.grpo, self.iterations
        if self.session.config.grpo.anneal and iterations:
            done = self.progress.iteration / iterations
            learner.optimizer.param_groups[0]["lr"] = learner.settings.learning_rate * (1 - 0.9 * done)
        instances = [instance for game in played for instance in game.instances]
        if not self._noticed_unknown and any(not instance.known for instance in instances):
            self._noticed_unknown = True
            self.feed.notice(
                "The server gives no log-probabilities: the model before each update scores its replies, and the ratio "
                "to the server is not measured"
            )
        groups = grouped(scored(instances, learner.logprobs))
        return learner.update(groups, self._learner.generator, self.stopped_short)

    async def _publish(self) -> None:
        """Send the current weights to the server of the run; the run ends if it refuses them."""
        server = self.session.server
        if server is None or self.stop.is_set():
            return
        weights = await self.worker.submit(server.folder.write, self.session.model)
        loading, stopping = spawn(server.reload(weights), "weights"), spawn(self.stop.wait(), "stop")
        try:
            await asyncio.wait([loading, stopping], return_when=asyncio.FIRST_COMPLETED)
            if loading.done():
                await loading
                await self.worker.submit(server.folder.keep_only, weights)
        except ServerError as error:
            self.failure = None if self.stop.is_set() else error
        finally:
            loading.cancel()
            stopping.cancel()

    def count(self, collected: list[Played]) -> int:
        self.progress.games += len(collected)
        return sum(len(game.turns) for game in collected)

    def report(
        self,
        collected: list[Played],
        update: GRPOStatistics,
        phases: Mapping[str, float],
        rating_games: RatingGames | None,
    ) -> DialogueReport:
        self.progress.speeds.append(len(collected) / max(sum(phases.values()), 1e-9))
        rating = None if rating_games is None else rating_games.rating
        return iteration_report(self.session, self.progress, collected, update, phases, rating)

    def _open_games(self, runner: str, incarnation: int) -> DialogueGames:
        progress = self.progress
        faults = progress.chaos.plan_of(runner, incarnation, progress.iteration, 0)
        on_fault = partial(progress.chaos.injected, runner)
        if self._actors is not None:
            games = self._actors.open(runner, faults)
            return games if faults is None else cast("DialogueGames", CountedFaults(games, faults, on_fault))
        torch.set_num_threads(1)  # in this thread: runners share the cores
        entry = self.session.entry if faults is None else faulty(self.session.entry, faults, on_fault)
        writer = writer_of(self.session.config, self.session.model, self.session.endpoint, self.stop.is_set)
        return DialogueCollector(entry, self.session.rules, writer, self._learner.opponents.player)

    def summary(self) -> dict[str, Any]:
        return dialogue_summary(self.session, self.progress, self.feed)

    def played(self) -> str:
        return f"{self.progress.games:,} games, {self.progress.total_steps:,} turns"


def _rating(session: DialogueSession) -> RatingPlan | None:
    """The rating games of a run; None where nothing is rated."""
    if not session.config.league.track_elo:
        return None

    def open_games() -> RatingBlock:
        torch.set_num_threads(session.threads)  # nothing else computes while it plays

        def rate(matchups: Sequence[Matchup], iteration: int, stop: Callable[[], bool]) -> list[GameRecord]:
            # Models are loaded each time: a restarted learner makes other generations of the same names.
            contenders = FrozenPlayers(
                session.config, session.run, session.device, session.roster, session.model.chat, stop
            )
            return play_dialogues(matchups, contenders, iteration, stop)

        return RatingBlock(session.run, session.rating, rate)

    # Without a deadline: a batch that loads models first says nothing about the next one.
    limits = Limits(math.inf, math.inf)
    return RatingPlan(session.rating, open_games, session.config.league.rating_share, limits=limits)


def _play(
    collector: DialogueGames, runner: str, order: DialogueOrder, chaos: Chaos, tally: Tally
) -> list[Played | Lost] | ServerError:
    """Play an order, in the runner's thread."""
    tally.clear()  # of a runner before this one
    try:
        games = collector.collect(order, tally)
    except ServerError as error:  # not a crash of the runner; a restart would not help
        return error
    chaos.completed(runner)
    return games
