"""Where the learner posts jobs and runners deliver results: whole ones, at most one a runner.

A job stays posted until it is delivered, so a runner that died in the middle of it is no special case: whoever
takes its place finds the same job waiting. A runner that is parked is given up until it comes back.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

R = TypeVar("R")

FIRST_TIMEOUT_S = 300.0  # until a first segment has shown how long they take: compilation comes before it
LEAST_TIMEOUT_S = 10.0
MEDIANS = 10.0  # a segment that takes this many medians hangs


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds after which a segment counts as hung, where the user sets no limit."""

    first_s: float = FIRST_TIMEOUT_S  # until one has shown how long they take
    least_s: float = LEAST_TIMEOUT_S  # however short they are


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
    """

    def __init__(self, runners: Iterable[str], timeout_s: float | None = None, limits: Limits | None = None) -> None:
        self._expected = set(runners)
        self._given_up: dict[str, str] = {}
        self._timeout_s = timeout_s
        self._limits = limits or Limits()
        self._jobs: dict[str, Job[R]] = {}
        self._results: dict[str, Any] = {}
        self._durations: deque[float] = deque(maxlen=50)
        self._changed = asyncio.Event()

    async def ask(self, jobs: Mapping[str, Job[R]]) -> dict[str, Any]:
        """Post one job for each of some runners and wait; results by runner, without those that were given up."""
        self._jobs, self._results = dict(jobs), {}
        try:
            self._notify()
            while any(name in self._expected for name in self._jobs):
                await self._changed.wait()
            return dict(self._results)
        finally:
            self._jobs = {}

    async def next_job(self, runner: str) -> Job[R]:
        """What this runner shall do next; a runner that had been given up is expected again."""
        self._expected.add(runner)
        self._given_up.pop(runner, None)
        while runner not in self._jobs:
            await self._changed.wait()
        return self._jobs[runner]

    def deliver(self, runner: str, job: Job[R], result: object, seconds: float) -> None:
        """Hand in a whole result. One for a job that is no longer posted is dropped."""
        if self._jobs.get(runner) is not job:
            return
        del self._jobs[runner]
        self._results[runner] = result
        if job.timed:
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
        if not self._durations:
            return self._limits.first_s
        return max(self._limits.least_s, MEDIANS * statistics.median(self._durations))

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
