"""Jobs from the learner and results of runners: whole results, at most one per runner.

A job stays in the queue until it is delivered, so that the replacement of a runner that died finds the same job. A
parked runner is not waited for until it returns; where all are parked, the request stays open for a while.

A queue may leave slow runners behind: once half of the runners have delivered, the others have as long again, and then
they continue alone. Their results count as late if they arrive before the next request is answered; the queue does not
wait for runners that are behind.
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
STRAGGLES = 3.0  # one that takes this many is reported
NOTICEABLE_S = 1.0  # if it takes so much longer than the median
GRACE_S = 0.5  # that slow runners have at least, once half have delivered


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds after which a segment counts as hung, where the user sets no limit."""

    first_s: float = FIRST_TIMEOUT_S  # until one has shown how long they take
    least_s: float = LEAST_TIMEOUT_S  # however short they are


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Seconds for which timed jobs wait while all their runners are given up; a delivery resets the count."""

    first_s: float = 0.0  # before a first delivery, where it may be a mistake of the user's
    later_s: float = 0.0


@dataclass(slots=True)
class _Round:
    """A question to some runners, and when it counts as answered."""

    asked: frozenset[str]
    core: frozenset[str]  # without any of these there is no answer
    behind: frozenset[str]  # runners that had not answered the last one when this one was asked
    leaves: bool
    alone_s: float  # for which it stays open where all are given up
    since: float
    half_s: float | None = None  # after which half had delivered


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """Blocking work for a runner's thread; ``function`` gets what the runner opened (its block of games)."""

    function: Callable[[R], Any]
    timed: bool = True  # its duration counts for the median
    progress: Callable[[R], int] | None = None
    """Grows while the job makes progress. The job then counts as hung if it has not grown within the time limit."""


class WorkQueue(Generic[R]):
    """Jobs and results of some runners. Used from the event loop only.

    Args:
        timeout_s: ``--collect-timeout``, or between two signs of progress; None follows the median.
        limits: Bounds of the deadline that follows the median.
        leave_behind: Whether slow runners are left behind with jobs that are timed.
        patience: How long all may be given up.
    """

    def __init__(
        self,
        runners: Iterable[str],
        timeout_s: float | None = None,
        limits: Limits | None = None,
        *,
        leave_behind: bool = False,
        patience: WaitLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._expected = set(runners)
        self._given_up: dict[str, str] = {}
        self._timeout_s = timeout_s
        self._limits = limits or Limits()
        self._leave_behind = leave_behind
        self._patience = patience or WaitLimits()
        self._clock = clock or MonotonicClock()
        self._core: frozenset[str] = frozenset()  # of the latest question
        self._delivered = False  # one of them has delivered a result
        self._alone_since: float | None = None  # all of those were given up, and none delivered since
        self._open: set[str] = set()  # runners that have what they work on
        self._ends_since: float | None = None
        self._cut_since: float | None = None
        self._left: dict[str, Job[R]] = {}  # jobs of the last question, of runners that were left behind with it
        self._late: dict[str, Any] = {}
        self._stragglers: dict[str, float] = {}
        self.dropped = 0  # results that came too late for anything
        self._jobs: dict[str, Job[R]] = {}
        self._results: dict[str, Any] = {}
        self._durations: deque[float] = deque(maxlen=50)
        self._changed = asyncio.Event()

    async def ask(self, jobs: Mapping[str, Job[R]], core: Iterable[str] = ()) -> dict[str, Any]:
        """Post one job for each of some runners and wait. Those that were given up or left behind have no result.

        Of the runners in ``core``, by default all, at least one must deliver for an answer, and half before slow
        runners are left behind.
        """
        self._jobs, self._results = dict(jobs), {}
        timed = all(job.timed for job in jobs.values())
        patience_s = self._patience.later_s if self._delivered else self._patience.first_s
        leaves, alone_s = self._leave_behind and timed, patience_s if timed and jobs else 0.0
        asked, behind = frozenset(jobs), frozenset(self._left)
        question = _Round(asked, asked.intersection(core) or asked, behind, leaves, alone_s, self._clock.time())
        left: dict[str, Job[R]] = {}
        self._core = question.core
        try:
            self._notify()
            while (seconds := self._seconds_left(question)) > 0.0:
                await self._change(seconds)
            left = dict(self._jobs) if leaves else {}
            return dict(self._results)
        finally:
            self._jobs, self._left = {}, left

    def take_late(self) -> dict[str, Any]:
        """Results of runners that were left behind with the question before the last one, by runner."""
        late, self._late = self._late, {}
        return late

    def take_stragglers(self) -> dict[str, float]:
        """Runners that took far longer than usual for a segment since the last call: runner -> seconds."""
        stragglers, self._stragglers = self._stragglers, {}
        return stragglers

    def forget(self) -> None:
        """Drop what runners that were left behind deliver from now on."""
        self._left, self._late = {}, {}

    async def next_job(self, runner: str) -> Job[R]:
        """Wait for the next job of a runner; a runner that had been given up is expected again."""
        self._expected.add(runner)
        self._open.add(runner)
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
        if runner in self._core:
            self._delivered, self._alone_since = True, None
        if job.timed:
            usual = self.median_s
            if usual is not None and seconds > max(STRAGGLES * usual, usual + NOTICEABLE_S):
                self._stragglers[runner] = seconds
            self._durations.append(seconds)
        self._notify()

    def leave(self, runner: str) -> None:
        """A runner has ended; until it asks for a job again it works on none."""
        self._open.discard(runner)
        self._notify()

    def end(self) -> None:
        """The run is to end: from now on only runners that can work at once are waited for.

        Where slow runners are left behind, the wait is three usual segments at most: a game in real time may stand
        still, as between two games of a person.
        """
        self._ends_since = self._clock.time()
        self._notify()

    def cut(self) -> None:
        """End the question in progress at once; later ones wait ``LEAST_TIMEOUT_S`` at most."""
        self._cut_since = self._clock.time()
        self.end()

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
        """Seconds that the answer may still take: 0 if it is complete, infinite if too few results have arrived."""
        missing, now = self._expected & self._jobs.keys(), self._clock.time()
        if self._ends_since is not None:
            missing &= self._open
            if missing and self._cut_since is not None:
                late = question.since <= self._cut_since
                return 0.0 if late else max(0.0, question.since + LEAST_TIMEOUT_S - now)
            patience_s = max(LEAST_TIMEOUT_S, STRAGGLES * (self.median_s or 0.0)) if question.leaves else math.inf
            return max(0.0, self._ends_since + patience_s - now) if missing else 0.0
        if not missing:
            if question.core & self._results.keys():
                return 0.0
            if self._alone_since is None:
                self._alone_since = now
            return max(0.0, self._alone_since + question.alone_s - now)
        if not (question.leaves and self._half(question.asked) and self._half(question.core)):
            return math.inf
        if missing <= question.behind:
            return 0.0
        if question.half_s is None:
            question.half_s = now - question.since
        return question.since + question.half_s + max(question.half_s, GRACE_S) - now

    def _half(self, runners: frozenset[str]) -> bool:
        """Return True if at least half of the runners have delivered; runners that were given up do not count."""
        delivered = runners & self._results.keys()
        return 2 * len(delivered) >= len(delivered | (runners & self._expected))

    async def _change(self, seconds: float) -> None:
        """Wait for a change, at most so many seconds."""
        timer = None if seconds == math.inf else self._clock.call_later(seconds, self._notify)
        try:
            await self._changed.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
