"""Where the learner posts jobs and runners deliver results: whole ones, at most one a runner.

A job stays posted until it is delivered, so a runner that died in the middle of it is no special case: whoever
takes its place finds the same job waiting. A runner that is parked is given up until it comes back.

A board may leave slow runners behind: once half of those asked have delivered, the others have as long again, and then
they go on alone. What such a runner delivers before the next question is answered is kept as late; while it is behind
nobody waits for it.
"""

from __future__ import annotations

import asyncio
import math
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from selfplay.supervision import Clock, MonotonicClock

R = TypeVar("R")

FIRST_TIMEOUT_S = 300.0  # until a first segment has shown how long they take: compilation comes before it
LEAST_TIMEOUT_S = 10.0
MEDIANS = 10.0  # a segment that takes this many medians hangs
STRAGGLES = 3.0  # one that takes this many is told of
NOTICEABLE_S = 1.0  # if it takes so much longer than the median
GRACE_S = 0.5  # that slow runners have at least, once half have delivered


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds after which a segment counts as hung, where the user sets no limit."""

    first_s: float = FIRST_TIMEOUT_S  # until one has shown how long they take
    least_s: float = LEAST_TIMEOUT_S  # however short they are


@dataclass(slots=True)
class _Round:
    """A question to some runners, and when it counts as answered."""

    asked: frozenset[str]
    core: frozenset[str]
    behind: frozenset[str]  # who had not answered the last one when this one was asked
    leaves: bool
    alone_s: float  # for which it stays open where all are given up, counted from the last delivery to any question
    since: float
    half_s: float | None = None  # after which half had delivered


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """Blocking work for a runner's thread; ``function`` gets what the runner opened (its block of games)."""

    function: Callable[[R], Any]
    timed: bool = True  # whether its duration tells how long segments take


class Board(Generic[R]):
    """Jobs and results of some runners. Used from the event loop only.

    Args:
        runners: Ids that are expected to deliver.
        timeout_s: ``--collect-timeout``; None follows the median.
        limits: What the median is held to.
        leave_behind: Whether slow runners are left behind with jobs that are timed.
        patience_s: After the last delivery, how long jobs that are timed wait where all runners are given up.
        clock: Of tests.
    """

    def __init__(
        self,
        runners: Iterable[str],
        timeout_s: float | None = None,
        limits: Limits | None = None,
        *,
        leave_behind: bool = False,
        patience_s: float = 0.0,
        clock: Clock | None = None,
    ) -> None:
        self._expected = set(runners)
        self._given_up: dict[str, str] = {}
        self._timeout_s = timeout_s
        self._limits = limits or Limits()
        self._leave_behind = leave_behind
        self._patience_s = patience_s
        self._clock = clock or MonotonicClock()
        self._delivered = self._clock.time()  # when somebody last did
        self._left: dict[str, Job[R]] = {}  # of the question before, of those who were left behind with it
        self._late: dict[str, Any] = {}
        self._stragglers: dict[str, float] = {}
        self.dropped = 0  # results that came too late for anything
        self._jobs: dict[str, Job[R]] = {}
        self._results: dict[str, Any] = {}
        self._durations: deque[float] = deque(maxlen=50)
        self._changed = asyncio.Event()

    async def ask(self, jobs: Mapping[str, Job[R]], core: Iterable[str] = ()) -> dict[str, Any]:
        """Post one job for each of some runners and wait.

        Args:
            jobs: by runner.
            core: those of them of whom half must have delivered, too, before anybody is left behind.

        Returns:
            Results by runner, without those that were given up or left behind.
        """
        self._jobs, self._results = dict(jobs), {}
        timed = all(job.timed for job in jobs.values())
        leaves, alone_s = self._leave_behind and timed, self._patience_s if timed and jobs else 0.0
        asked, behind = frozenset(jobs), frozenset(self._left)
        question = _Round(asked, asked.intersection(core), behind, leaves, alone_s, self._clock.time())
        left: dict[str, Job[R]] = {}
        try:
            self._notify()
            while (seconds := self._seconds_left(question)) > 0.0:
                await self._change(seconds)
            left = dict(self._jobs) if leaves else {}
            return dict(self._results)
        finally:
            self._jobs, self._left = {}, left

    def take_late(self) -> dict[str, Any]:
        """What those who were left behind with the question before the last one have delivered since, by runner."""
        late, self._late = self._late, {}
        return late

    def take_stragglers(self) -> dict[str, float]:
        """Who took far longer than usual for a segment since this was asked last: runner -> seconds."""
        stragglers, self._stragglers = self._stragglers, {}
        return stragglers

    def forget(self) -> None:
        """Nobody is interested any more in what those who were left behind deliver."""
        self._left, self._late = {}, {}

    async def next_job(self, runner: str) -> Job[R]:
        """What this runner shall do next; a runner that had been given up is expected again."""
        self._expected.add(runner)
        self._given_up.pop(runner, None)
        while runner not in self._jobs:
            await self._changed.wait()
        return self._jobs[runner]

    def deliver(self, runner: str, job: Job[R], result: object, seconds: float) -> None:
        """Hand in a whole result. One for a job that is no longer posted is late, or dropped."""
        if self._jobs.get(runner) is job:
            del self._jobs[runner]
            self._results[runner] = result
        elif self._left.get(runner) is job:
            del self._left[runner]
            self._late[runner] = result
        else:
            self.dropped += 1
            return
        self._delivered = self._clock.time()
        if job.timed:
            usual = self.median_s
            if usual is not None and seconds > max(STRAGGLES * usual, usual + NOTICEABLE_S):
                self._stragglers[runner] = seconds
            self._durations.append(seconds)
        self._notify()

    def give_up(self, runner: str, why: str) -> None:
        """Stop waiting for a runner, until it asks for a job again."""
        self._expected.discard(runner)
        self._given_up[runner] = why
        self._notify()

    @property
    def expected(self) -> frozenset[str]:
        """Runners that are waited for."""
        return frozenset(self._expected)

    @property
    def given_up(self) -> dict[str, str]:
        """Runners that are not waited for, and why, in the order in which they were given up."""
        return dict(self._given_up)

    @property
    def timeout_s(self) -> float:
        """Seconds after which a job counts as hung."""
        if self._timeout_s is not None:
            return self._timeout_s
        usual = self.median_s
        return self._limits.first_s if usual is None else max(self._limits.least_s, MEDIANS * usual)

    @property
    def median_s(self) -> float | None:
        """Seconds that a segment usually takes; None before the first one."""
        return statistics.median(self._durations) if self._durations else None

    def _seconds_left(self, question: _Round) -> float:
        """How long the answer may still take: 0 where it is there, infinite where too little has been delivered."""
        missing = self._expected & self._jobs.keys()
        if not missing:
            return 0.0 if self._results else max(0.0, self._delivered + question.alone_s - self._clock.time())
        if not (question.leaves and self._half(question.asked) and self._half(question.core)):
            return math.inf
        if missing <= question.behind:
            return 0.0
        passed = self._clock.time() - question.since
        if question.half_s is None:
            question.half_s = passed
        return question.half_s + max(question.half_s, GRACE_S) - passed

    def _half(self, runners: frozenset[str]) -> bool:
        """Whether at least half of them have delivered; those who were given up do not count."""
        delivered = runners & self._results.keys()
        return 2 * len(delivered) >= len(delivered | (runners & self._expected))

    async def _change(self, seconds: float) -> None:
        """Wait for news, so long at most."""
        timer = None if seconds == math.inf else self._clock.call_later(seconds, self._notify)
        try:
            await self._changed.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
