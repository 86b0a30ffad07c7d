"""Runs of fighting games and of solved games: segments of fixed length, PPO, opponents from a league."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import methodcaller
from statistics import median
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import shipped_policies
from selfplay.config.defaults import update_threads
from selfplay.config.fighting import OPTIONS
from selfplay.config.resume import own_code, spelled
from selfplay.errors import RunnerError
from selfplay.league.gate import Gate
from selfplay.league.modes import MAIN
from selfplay.league.records import ANCHOR
from selfplay.league.sprt import SprtBounds
from selfplay.policy.browser.weights import PLAYED
from selfplay.policy.policy import load_policy
from selfplay.report.health import Health
from selfplay.runner.match import Contender, play_in_threads
from selfplay.runner.segment import Collected, GameBlock, SegmentOrder
from selfplay.runner.work_queue import Job, Limits, WorkQueue
from selfplay.train.family import Best, Family
from selfplay.train.fighting.batch import iteration_report, scores_against
from selfplay.train.fighting.blocks import Blocks
from selfplay.train.fighting.population import Population
from selfplay.train.fighting.rating import play_matchups
from selfplay.train.fighting.realtime import arena, limits, park_policy, rating_cost_s
from selfplay.train.rater import COST_S, Rater, RaterResource, RatingPlan
from selfplay.train.restart_policy import PARK, PARK_ELSEWHERE, patience
from selfplay.train.run import flags_to_continue
from selfplay.verbs import quoted

if TYPE_CHECKING:
    import asyncio

    from selfplay.checkpoint import LearnerState
    from selfplay.league.records import MatchRecord
    from selfplay.league.rewards import RewardRecord
    from selfplay.league.schedule import Matchup
    from selfplay.policy.network import ActorCritic
    from selfplay.report.metrics import IterationReport
    from selfplay.report.reporter import Feed
    from selfplay.runner.chaos import Chaos
    from selfplay.runner.game_runner import SlowOpening
    from selfplay.train.disk import DiskWatch
    from selfplay.train.fighting.session import Session
    from selfplay.train.learner_state import Arrays
    from selfplay.train.ledger_keeper import LedgerKeeper
    from selfplay.update_metrics import UpdateMetrics

Segments = dict[str, list[Collected]]  # an iteration's segments by the role of the agent that learns from them


class FightingFamily(Family[Segments, "UpdateMetrics"]):
    """Fights and solved games."""

    def __init__(self, session: Session, feed: Feed, stop: asyncio.Event) -> None:
        config, real_time = session.config, session.game.real_time
        elsewhere = session.cluster is not None
        park = park_policy(config.emulator) if real_time else PARK_ELSEWHERE if elsewhere else PARK
        queue: WorkQueue[GameBlock] = WorkQueue(
            session.blocks, config.run.collect_timeout, limits(config) if real_time else None, leave_behind=real_time,
            patience=patience(park, config.run.ray_address),
        )  # fmt: skip
        super().__init__(session, queue, park, feed, stop, Health(fights=session.game.fighter))
        self.session = session
        self.keeps_last_ratings = not config.run.deterministic  # a later end of equal runs makes no difference
        self._population = Population(session, self.progress, feed)
        self._teacher: ActorCritic | None = None  # of the main agent; exploiters are free
        self._unplayable: frozenset[str] = frozenset()  # runners whose games of the checkpoint lack an opponent
        self._blocks = Blocks(session, feed.notice, self.progress, lambda: self._unplayable)

    # ---- training

    async def open(self) -> None:
        self._teacher = None
        await self._population.open(self.worker)

    async def begin(self) -> None:
        await self._population.begin()

    async def restore(self, state: LearnerState) -> None:
        await self._population.restore(state)
        if state is self.resumed:  # runners continue the games of the checkpoint, against the opponents they had
            await self._load_in_play(state.meta.opponents)

    @property
    def iterations(self) -> int | None:
        return self.session.iterations

    async def _load_in_play(self, opponents: Mapping[str, Any]) -> None:
        """Load the frozen policies that games of a checkpoint need; where one is gone, the games start over."""
        broken = set()
        for runner, role in self.session.roles.items():
            names = _in_play(opponents.get(runner))
            if await self.worker.submit(self._population.archive.has, names):
                await self._population.load(role, names)
            else:
                broken.add(runner)
                self.feed.notice(f"{runner} begins new games: an opponent of its games in progress is gone")
        self._unplayable = frozenset(broken)

    async def collect(self) -> Segments | None:
        if self._teacher is None and self.session.config.run.pretrained is not None:  # of which the run has a copy
            self._teacher = await self._population.first_policy()
        if (choose := self.session.hooks.opponents) is not None:
            session, matchmaker = self.session, self._population.agents[MAIN].matchmaker
            games = sum(count for runner, count in session.blocks.items() if session.roles[runner] == MAIN)
            await self._ask("the choice of opponents", partial(matchmaker.ask, choose, games))
            if self.failure is not None:
                return None
        orders = await self._orders()
        chaos = self.progress.chaos
        jobs: dict[str, Job[GameBlock]] = {
            runner: Job(partial(_collect, runner=runner, order=order, chaos=chaos)) for runner, order in orders.items()
        }
        roles = self.session.roles
        core = [runner for runner, role in roles.items() if role == MAIN]
        results: dict[str, Collected] = await self.queue.ask(jobs, core)
        late: dict[str, Collected] = self.queue.take_late()  # one version old, which PPO's ratios make up for
        self.progress.late += len(late)
        self.progress.dropped = self.queue.dropped
        self.tell_stragglers("a segment")
        segments = [*sorted(results.items()), *sorted(late.items())]
        for runner, part in segments:
            for note in part.notes:
                self.feed.notice(f"{runner}: {note}")
        collected = {
            role: [part for runner, part in segments if roles[runner] == role] for role in self._population.agents
        }
        if not collected[MAIN]:
            if self.stop.is_set():
                return None
            why = next(iter(self.queue.given_up.values()))
            raise RunnerError(f"every runner fails again and again; first cause: {why}")
        self._record(collected)
        return collected

    async def _orders(self) -> dict[str, SegmentOrder]:
        """Make the order of each runner: the current weights, and opponents that are drawn now."""
        session, iteration = self.session, self.progress.iteration
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
                iteration, session.config.ppo.rollout_length, iteration, networks[agent.role], frozen,
                tuple(agent.matchmaker.draw(games)), self._teacher if agent.role == MAIN else None,
            )  # fmt: skip
        return orders

    def _record(self, collected: Segments) -> None:
        """Pass the results to the matchmakers, and drop opponents that no game in progress needs."""
        for role, parts in collected.items():
            agent = self._population.agents[role]
            agent.matchmaker.record(scores_against(parts))
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
                updates[role] = await self.worker.submit(agent.learner.update, rollouts, age, self._share_done())
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
        self, collected: Segments, update: UpdateMetrics, phases: Mapping[str, float], rater: Rater | None
    ) -> IterationReport:
        main, others = collected[MAIN], {role: parts for role, parts in collected.items() if role != MAIN}
        report = iteration_report(self.session, self.progress, main, update, phases, rater, others)
        self.progress.speeds.append(report.steps_per_s)
        return report

    def observe(self, report: IterationReport) -> dict[str, Any]:
        return {"iteration": report.iteration, "critic_only": report.update.critic_only, **report.flat()}

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

    def close(self) -> None:
        self._population.close()

    # ---- saving

    async def freeze(self) -> None:
        await self._population.freeze()

    async def add_generation(self, collected: Segments, disk: DiskWatch, rater: Rater | None, best: Best) -> None:
        """A generation that opponents are drawn from, and exploiters that have done their work."""
        del collected
        await self._population.add_generation(disk, rater, best)

    async def state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = await self._population.arrays()
        opponents: dict[str, Any] = {}
        if self.progress.iteration and not self.session.game.real_time:
            jobs: dict[str, Job[GameBlock]] = {
                r: Job(methodcaller("snapshot"), timed=False) for r in self.session.blocks
            }
            for runner, (games, document) in (await self.queue.ask(jobs)).items():
                arrays |= {f"games/{runner}/{name}": array for name, array in games.items()}
                opponents[runner] = document
        return self._population.state() | {"opponents": opponents}, arrays

    async def sweep(self) -> None:
        await self._population.sweep()

    # ---- runners

    @property
    def runners(self) -> Sequence[str]:
        return tuple(self.session.blocks)

    def open_runner(self, runner: str, incarnation: int) -> GameBlock:
        return self._blocks.open(runner, incarnation)

    @property
    def opening(self) -> SlowOpening | None:
        return self._blocks.opening

    # ---- ratings

    def make_rater(self, ledger: LedgerKeeper, queue: WorkQueue[RaterResource]) -> Rater | None:
        config, real_time = self.session.config, self.session.game.real_time
        if not config.league.track_elo:
            return None
        plan = RatingPlan(
            self.session.rating,
            config.league.rating_share,
            cost_s=rating_cost_s(config.game.max_episode_frames, config.run.num_games) if real_time else COST_S,
            frames_per_step=config.game.frame_skip,
            cap_frames=config.game.max_episode_frames,
            by_frames=config.run.deterministic,
            real_time=real_time,
            gate=Gate(SprtBounds(*config.league.gate_bounds)) if config.league.gate == "sprt" else None,
        )
        return Rater(self.run, plan, ledger, queue, self.feed.notice)

    def open_rater(self) -> RaterResource:
        session, real_time = self.session, self.session.game.real_time
        emulators = arena(session.config, self.run, self.feed.notice, self._blocks.infer) if real_time else None
        threads = update_threads(session.config.run.threads)
        play = partial(play_in_threads, threads) if emulators is None else emulators.play

        def rate(matchups: Sequence[Matchup], iteration: int, stop: Any) -> list[MatchRecord | RewardRecord]:  # noqa: ANN401
            # Loaded again each time: a learner that crashed makes other generations of the same names.
            names = sorted({name for matchup in matchups for name in matchup.players})
            contenders = {name: self._contender(name) for name in names}
            return play_matchups(matchups, contenders, session.rating, iteration, stop, play)

        def kill() -> bool:
            if emulators is None:
                return False
            emulators.kill()
            return True

        return RaterResource(self.run, session.rating, rate, kill)

    def _contender(self, name: str) -> Contender:
        if name in self.session.game.ladder:
            return Contender(name)
        return Contender(name, load_policy(shipped_policies().get(name, self.run.generations / name)))

    @property
    def rating_limits(self) -> Limits | None:
        """Rating games in emulators have deadlines of their own, each of them."""
        return Limits(math.inf, math.inf) if self.session.game.real_time else None

    @property
    def ledger_rows(self) -> int | None:
        """Rows up to the checkpoint in a deterministic run, which plays later games again; None for all rows."""
        if self.resumed is None or not self.session.config.run.deterministic:
            return None
        return self.resumed.meta.ledger_position

    # ---- the end

    def summary(self) -> dict[str, Any]:
        speeds = self.progress.speeds
        return {"steps_per_s_median": round(median(speeds), 1) if speeds else None}

    def played(self) -> str:
        return f"{self.progress.total_steps:,} steps"

    def next_steps(self) -> list[str]:
        config = self.session.config
        started = spelled(config, OPTIONS)
        game = self.session.game
        playable = not game.real_time if game.fighter else game.single is not None
        served = "" if config.net.backbone in PLAYED or not game.fighter else " --serve"
        resume = f"  selfplay train --resume --checkpoint {quoted(self.run.path)}"
        newest, own = quoted(self.run.generations / self.progress.newest), own_code(config, OPTIONS)
        return [
            f"  selfplay evaluate {newest} {ANCHOR} --games 100{own}",
            *([f"  selfplay watch {quoted(self.run.path)}{own}"] if game.fighter else []),
            f"{resume}{flags_to_continue(config.run, self.progress)}{started}",
            f"  tensorboard --logdir {quoted(self.run.path.parent)}",
            *([f"  selfplay play {quoted(self.run.path)}{served}{own}  # play against it"] if playable else []),
        ]


def _collect(block: GameBlock, runner: str, order: SegmentOrder, chaos: Chaos) -> Collected:
    """Collect a segment. Called in the runner's thread."""
    collected = block.collect(order)
    chaos.completed(runner)
    return collected


def _in_play(document: Mapping[str, Any] | None) -> set[str]:
    """Frozen policies that the games of a block go on against; ``document`` is what it said of itself."""
    return {name for kind, name, _ in (document or {}).get("opponents", ()) if kind == "generation"}
