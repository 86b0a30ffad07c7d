"""Training by PPO: segments of fixed length, opponents from a league."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import shipped_policies
from selfplay.config.resume import own_code, spelled
from selfplay.league.gate import Gate
from selfplay.league.modes import MAIN
from selfplay.league.records import ANCHOR
from selfplay.league.sprt import SprtBounds
from selfplay.machine import update_threads
from selfplay.policy.browser.weights import PLAYED
from selfplay.policy.policy import load_policy
from selfplay.ppo.batch import iteration_report, leads_against, scores_against
from selfplay.ppo.blocks import Blocks
from selfplay.ppo.population import Population
from selfplay.ppo.rating import play_matchups
from selfplay.report.health import Health
from selfplay.report.trackers.find import TENSORBOARD
from selfplay.run.lifecycle import flags_to_continue
from selfplay.run.progress import Progress, chaos_of
from selfplay.run.rating_games import COST_S, RatingBlock, RatingPlan
from selfplay.run.training import PARK, PARK_ELSEWHERE, Runners, Training, patience
from selfplay.runner.match import Contender, play_in_threads
from selfplay.runner.segment import Collected, GameBlock, SegmentOrder
from selfplay.runner.work_queue import Job, Limits, WorkQueue
from selfplay.verbs import quoted

if TYPE_CHECKING:
    from selfplay.league.records import GameRecord
    from selfplay.league.schedule import Matchup
    from selfplay.ppo.session import Session
    from selfplay.report.metrics import IterationReport
    from selfplay.report.reporter import Feed
    from selfplay.run.disk import DiskWatch
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.stopping import Stop
    from selfplay.runner.chaos import Chaos
    from selfplay.update_metrics import UpdateMetrics

Segments = dict[str, list[Collected]]  # an iteration's segments by the role of the agent that learns from them


class PPOTraining(Training[Segments, "UpdateMetrics"]):
    """The iterations of PPO on segments of games; see ``Training``."""

    def __init__(self, session: Session, feed: Feed, stop: Stop) -> None:
        config, host = session.config, session.host
        elsewhere = session.cluster is not None
        park = host.park_policy(config) if host else PARK_ELSEWHERE if elsewhere else PARK
        queue: WorkQueue[GameBlock] = WorkQueue(
            session.blocks, config.run.collect_timeout, host.limits(config) if host else None,
            leave_behind=host is not None, patience=patience(park, config.run.ray_address),
        )  # fmt: skip
        progress = Progress(chaos_of(config.run, session.resumed), Health(session.game.health()))
        self.session: Session = session
        self._population = population = Population(session, progress, feed, queue)
        blocks = Blocks(session, feed.notice, progress, lambda: population.unplayable)
        runners = Runners(tuple(session.blocks), queue, park, blocks.open, blocks.opening)
        super().__init__(session, feed, stop, progress, population, runners, _rating(session, feed, blocks))

    @property
    def iterations(self) -> int | None:
        return self.session.config.iterations

    async def collect(self) -> Segments | None:
        orders = await self._orders()
        return None if orders is None else await self._play(orders)

    async def play_ahead(self) -> Callable[[], Coroutine[object, None, Segments | None]] | None:
        if not self.session.config.ppo.max_policy_lag:
            return None
        orders = await self._orders(1)
        return None if orders is None else partial(self._play, orders)

    async def _orders(self, ahead: int = 0) -> dict[str, SegmentOrder] | None:
        """Make the order of each runner: the current weights, and opponents that are drawn now.

        None where the run ends. ``ahead``: iterations from now in which they are played.
        """
        await self._population.load_teacher()
        if (choose := self.session.hooks.opponents) is not None:
            session, matchmaker = self.session, self._population.agents[MAIN].matchmaker
            games = sum(count for runner, count in session.blocks.items() if session.roles[runner] == MAIN)
            await self._ask("the choice of opponents", partial(matchmaker.ask, choose, games))
            if self.failure is not None:
                return None
        session, version = self.session, self.progress.iteration
        networks = {}
        for role, agent in self._population.agents.items():
            agent.matchmaker.rotate(agent.frozen)
            networks[role] = await self.worker.submit(agent.learner.snapshot)
            await self._population.load(role, {*agent.matchmaker.bench, *agent.frozen})
        orders = {}
        for runner, games in session.blocks.items():
            agent = self._population.agents[session.roles[runner]]
            frozen = dict(agent.frozen) if agent.role == MAIN else agent.frozen | {MAIN: networks[MAIN]}
            orders[runner] = SegmentOrder(
                version + ahead, session.config.ppo.rollout_length, version, networks[agent.role], frozen,
                tuple(agent.matchmaker.draw(games)), self._population.teacher if agent.role == MAIN else None,
            )  # fmt: skip
        return orders

    async def _play(self, orders: Mapping[str, SegmentOrder]) -> Segments | None:
        """Let all runners play; None where the run ends before there is anything to learn from."""
        chaos = self.progress.chaos
        jobs: dict[str, Job[GameBlock]] = {
            runner: Job(partial(_collect, runner=runner, order=order, chaos=chaos)) for runner, order in orders.items()
        }
        roles = self.session.roles
        core = [runner for runner, role in roles.items() if role == MAIN]
        results: dict[str, Collected] = await self.runners.queue.ask(jobs, core)
        late: dict[str, Collected] = self.runners.queue.take_late()  # one version old, which PPO's ratios make up for
        self.progress.late += len(late)
        self.progress.dropped = self.runners.queue.dropped
        self.tell_stragglers("a segment")
        segments = [*sorted(results.items()), *sorted(late.items())]
        for runner, part in segments:
            for note in part.notes:
                self.feed.notice(f"{runner}: {note}")
        collected = {
            role: [part for runner, part in segments if roles[runner] == role] for role in self._population.agents
        }
        if not collected[MAIN]:
            self.give_up()
            return None
        self._record(collected)
        return collected

    def _record(self, collected: Segments) -> None:
        """Pass the results to the matchmakers, and drop opponents that no game in progress needs."""
        by_payoff = self.session.game.objective.by_payoff
        for role, parts in collected.items():
            agent = self._population.agents[role]
            results = leads_against(parts) if by_payoff else scores_against(parts)
            agent.matchmaker.record(results, leads=by_payoff)
            in_play = frozenset().union(*(part.in_play for part in parts))
            agent.frozen = {name: net for name, net in agent.frozen.items() if name in in_play}

    async def update(self, collected: Segments, disk: DiskWatch) -> UpdateMetrics:
        """Every agent learns from its own segments; returns the metrics of the main agent."""
        del disk
        updates = {}
        for role, parts in collected.items():
            if parts:
                rollouts = [part.rollout for part in parts]
                agent = self._population.agents[role]
                age = self.progress.iteration - agent.began
                done = self._share_done()
                updates[role] = await self.worker.submit(agent.learner.update, rollouts, age, done, self.stopped_short)
        return updates[MAIN]

    def _share_done(self) -> float:
        iterations, minutes = self.iterations, self.session.config.run.max_minutes
        shares = [self.progress.iteration / iterations if iterations else 0.0]
        shares.append(self.progress.elapsed_s / (60 * minutes) if minutes else 0.0)
        return min(1.0, max(shares))

    def count(self, collected: Segments) -> int:
        del collected
        return self.session.config.steps_per_iteration

    def report(
        self, collected: Segments, update: UpdateMetrics, phases: Mapping[str, float], rating_games: RatingGames | None
    ) -> IterationReport:
        main, others = collected[MAIN], {role: parts for role, parts in collected.items() if role != MAIN}
        report = iteration_report(self.session, self.progress, main, update, phases, rating_games, others)
        self.progress.speeds.append(report.steps_per_s)
        return report

    def observe(self, report: IterationReport) -> Mapping[str, object]:
        return {**super().observe(report), "critic_only": report.update.critic_only}

    async def after(self, report: IterationReport) -> None:
        for callback in self.session.hooks.callbacks:
            await self._ask("a callback", partial(callback, report))

    async def _ask(self, name: str, function: Callable[[], object]) -> None:
        """Call a function of the caller's; if it returns False or fails, the run ends after this iteration, saved."""
        try:
            goes_on = await self.worker.submit(function) is not False
        except Exception as error:
            self.failure, goes_on = self.failure or error, False
        if not goes_on:
            self.progress.ended_by = name
            self.stop.set()

    def release(self, collected: Segments) -> None:
        for part in chain.from_iterable(collected.values()):
            part.release()

    def summary(self) -> dict[str, Any]:
        speeds = self.progress.speeds
        return {"steps_per_s_median": round(median(speeds), 1) if speeds else None}

    def played(self) -> str:
        return f"{self.progress.total_steps:,} steps"

    def next_steps(self) -> list[str]:
        config = self.session.config
        started = spelled(config, config.game.options)
        game, tensorboard = self.session.game, TENSORBOARD in config.run.report_to
        playable = not game.real_time and (game.single is not None or "play" in game.verbs)
        served = "" if config.net.backbone in PLAYED or "play" not in game.verbs else " --serve"
        resume = f"  selfplay train --resume --checkpoint {quoted(self.run.path)}"
        newest, own = (
            quoted(self.run.generations / self.progress.newest),
            own_code(config, config.game.options),
        )
        return [
            f"  selfplay evaluate {newest} {ANCHOR} --games 100{own}",
            *([f"  selfplay watch {quoted(self.run.path)}{own}"] if "watch" in game.verbs else []),
            f"{resume}{flags_to_continue(config.run, self.progress)}{started}",
            *([f"  tensorboard --logdir {quoted(self.run.path.parent)}"] if tensorboard else []),
            *([f"  selfplay play {quoted(self.run.path)}{served}{own}  # play against it"] if playable else []),
        ]


def _rating(session: Session, feed: Feed, blocks: Blocks) -> RatingPlan | None:
    """The rating games of a run; None where nothing is rated."""
    config, run, host = session.config, session.run, session.host
    if not config.league.track_elo:
        return None

    def contender(name: str) -> Contender:
        if name in session.game.rated.players:
            return Contender(name)
        return Contender(name, load_policy(shipped_policies().get(name, run.generations / name)))

    def open_games() -> RatingBlock:
        emulators = host.arena(config, run, feed.notice, blocks.infer) if host else None
        play = partial(play_in_threads, update_threads(config.run.threads)) if emulators is None else emulators.play

        def rate(matchups: Sequence[Matchup], iteration: int, stop: Any) -> list[GameRecord]:  # noqa: ANN401
            # Loaded again each time: a learner that crashed makes other generations of the same names.
            names = sorted({name for matchup in matchups for name in matchup.players})
            contenders = {name: contender(name) for name in names}
            return play_matchups(matchups, contenders, session.rating, iteration, stop, play)

        def kill() -> bool:
            if emulators is not None:
                emulators.kill()
            return emulators is not None

        return RatingBlock(run, session.rating, rate, kill)

    return RatingPlan(
        session.rating,
        open_games,
        config.league.rating_share,
        cost_s=host.rating_cost_s(config) if host else COST_S,
        limits=Limits(math.inf, math.inf) if host else None,  # games in real time have deadlines of their own
        frames_per_step=config.game.body.frame_skip,
        cap_frames=config.game.cap_frames,
        deterministic=config.run.deterministic,
        real_time=host is not None,
        gate=Gate(SprtBounds(*config.league.gate_bounds)) if config.league.gate == "sprt" else None,
    )


def _collect(block: GameBlock, runner: str, order: SegmentOrder, chaos: Chaos) -> Collected:
    """Collect a segment. Called in the runner's thread."""
    collected = block.collect(order)
    chaos.completed(runner)
    return collected
