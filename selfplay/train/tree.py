"""The supervision tree of a training run.

root  rest_for_one
  ...        children of the family, such as a server that writes replies
  ledger     permanent  the one writer of the ledger; only where games are rated
  runners    permanent  a pool; the learner starts its children
    runner-000 ..       training games
    rater-000           rating games
  learner    transient, significant: its normal end is the end of the run
  reporting  permanent, a supervisor with a budget of its own: a broken terminal ends nothing else
    feed     transient
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selfplay.runner.game_runner import GameRunner
from selfplay.runner.work_queue import FIRST_TIMEOUT_S, WorkQueue
from selfplay.supervision import ChildSpec, Context, Pool, PoolSpec, Supervisor, SupervisorSpec
from selfplay.train.ledger_keeper import LedgerKeeper
from selfplay.train.loop import TrainingLoop
from selfplay.train.monitoring.supervision_notices import SupervisionNotices
from selfplay.train.rater import RATER, RaterResource
from selfplay.train.restart_policy import GRACE_S, PARK, root_of

if TYPE_CHECKING:
    from selfplay.train.family import Family
    from selfplay.train.lifecycle import Stop


class Tree:
    """Everything of a run, wired together. Built inside the event loop."""

    def __init__(self, family: Family[Any, Any], stop: Stop) -> None:
        self.family = family
        stop.listeners.append(family.queue.end)
        self._rater_queue: WorkQueue[RaterResource] = WorkQueue([RATER], limits=family.rating_limits)
        self._ledger = LedgerKeeper(family.run.ledger, family.ledger_rows)
        self.rater = family.make_rater(self._ledger, self._rater_queue)
        self.loop = TrainingLoop(family, self.rater, stop, self.start_runners)
        queues: dict[str, WorkQueue[Any]] = dict.fromkeys(family.runners, family.queue) | {RATER: self._rater_queue}
        self.announcer = SupervisionNotices(family.feed.notice, queues, self._count_restart)
        self.root = Supervisor(self._spec(), on_report=self.announcer.on_report)

    def _spec(self) -> SupervisorSpec:
        park = self.family.park
        budget = 10 * (len(self.family.runners) + 1) * park.period_s / PARK.period_s
        feed = SupervisorSpec(children=(ChildSpec("feed", self._deliver, restart="transient"),), intensity=100)
        return root_of(
            (
                *self.family.children(),
                *(() if self.rater is None else (ChildSpec("ledger", self._ledger.run),)),
                ChildSpec("runners", PoolSpec(intensity=round(budget), period_s=park.period_s, park=park)),
                ChildSpec("learner", self.loop.run, restart="transient", significant=True, shutdown_s=GRACE_S),
                ChildSpec("reporting", feed),
            )
        )

    async def start_runners(self) -> None:
        """Start the runners that the pool does not have: all of them, unless only the learner was restarted."""
        family = self.family
        pool = self.root.find("runners", Pool)
        there = {child.id for child in pool.which_children()}
        runner = GameRunner(family.queue, family.open_runner, family.opening)
        for name in family.runners:
            if name not in there:
                await pool.start_child(ChildSpec(name, runner.child(), start_timeout_s=FIRST_TIMEOUT_S))
        if self.rater is not None and RATER not in there:
            rater = GameRunner(self._rater_queue, lambda *_: family.open_rater())
            await pool.start_child(ChildSpec(RATER, rater.child()))

    async def _deliver(self, ctx: Context) -> None:
        ctx.ready()
        await self.family.feed.run()

    def _count_restart(self, runner: str) -> None:
        self.family.progress.restarts += runner in self.family.runners
        self.family.progress.chaos.failed(runner)
