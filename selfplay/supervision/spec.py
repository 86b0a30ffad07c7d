"""Immutable specifications of a tree, validated on construction. Times are in seconds."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from selfplay.supervision.errors import SpecError

if TYPE_CHECKING:
    from selfplay.supervision.child import Context
    from selfplay.supervision.exits import ChildKind

Restart = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
AutoShutdown = Literal["never", "any_significant", "all_significant"]
BrutalKill = Literal["brutal_kill"]
WORKER_SHUTDOWN_S = 5.0


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """Specification of a child."""

    id: str  # unique within a static supervisor; a label in a pool
    start: Start
    """A coroutine function (bound methods, `functools.partial` and objects with an async `__call__` included), or the
    specification of a nested supervisor or pool."""
    restart: Restart = "permanent"  # permanent (always), transient (after a crash only) or temporary (never)
    shutdown_s: float | BrutalKill | None = None
    """Seconds from a stop request until the child is killed or abandoned. "brutal_kill" or 0: killed without a request.
    None: 5 s for a worker, no limit for a supervisor."""
    significant: bool = False  # its end can end the supervisor, see `SupervisorSpec.auto_shutdown`
    start_timeout_s: float | None = None  # seconds within which it must become ready; None: no limit
    kill: Callable[[], None] | None = None
    """Called for brutal_kill and after a missed deadline, for instance to kill a process group. It must not block. Use
    `ctx.on_kill` for resources of a single incarnation."""

    def __post_init__(self) -> None:
        if not self.id or "/" in self.id:
            raise SpecError("invalid_id", f"{self.id!r}; valid: not empty, without '/'")
        if self.kind == "worker" and not _is_coroutine_function(self.start):
            raise SpecError("invalid_mfa", f"{self.id!r}: {self.start!r}; valid: async functions and specifications")
        _one_of("invalid_restart_type", self.restart, get_args(Restart))
        if isinstance(self.shutdown_s, str):
            _one_of("invalid_shutdown", self.shutdown_s, get_args(BrutalKill))
        elif self.shutdown_s is not None:
            _at_least_zero("invalid_shutdown", self.shutdown_s)
        if self.start_timeout_s is not None:
            _at_least_zero("invalid_start_timeout", self.start_timeout_s)

    @property
    def kind(self) -> ChildKind:
        return "supervisor" if isinstance(self.start, SupervisorSpec | PoolSpec) else "worker"

    @property
    def grace(self) -> float | BrutalKill:
        """`shutdown_s` with its default filled in; 0 becomes "brutal_kill"."""
        if self.shutdown_s == 0:
            return "brutal_kill"
        if self.shutdown_s is None:
            return math.inf if self.kind == "supervisor" else WORKER_SHUTDOWN_S
        return self.shutdown_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSpec:
    """Specification of a static supervisor."""

    children: tuple[ChildSpec, ...] = ()  # started in this order, stopped in reverse
    strategy: Strategy = "one_for_one"
    """Children that restart with a crashed one: one_for_one (none), one_for_all, rest_for_one (later ones)."""
    intensity: int = 1
    """Restarts allowed within the period, before the supervisor gives up. A group restart counts once."""
    period_s: float = 5.0  # length of the inclusive window
    auto_shutdown: AutoShutdown = "never"
    """End when any, or the last, significant child has ended without a request and is not restarted."""
    park: ParkPolicy | None = None  # policy for children in a crash loop; None: the supervisor gives up, as in OTP

    def __post_init__(self) -> None:
        _one_of("invalid_strategy", self.strategy, get_args(Strategy))
        _one_of("invalid_auto_shutdown", self.auto_shutdown, get_args(AutoShutdown))
        _check_window(self.intensity, self.period_s)
        seen: set[str] = set()
        for child in self.children:
            check_significance(child, self.auto_shutdown)
            if child.id in seen:
                raise SpecError("duplicate_child_name", repr(child.id))
            seen.add(child.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkPolicy:
    """Exponential back-off for a child in a crash loop, while other children keep running.

    A child that failed more than `max_restarts` times within `period_s` is parked for `backoff_s` seconds, doubled
    each time up to `max_backoff_s`. Its restart group is stopped meanwhile. Failures are forgiven once the child has
    run for `period_s` or has called `ctx.prove()`. Restarts after parking, and restarts of a child that has proved
    itself, do not count towards the supervisor's intensity. So crash loops alone cannot end a supervisor whose
    `intensity` is at least `max_restarts` times the number of its children.
    """

    max_restarts: int = 3  # restarts of one child within the period before it is parked
    period_s: float = 60.0  # length of the child's own inclusive window
    backoff_s: float = 1.0  # duration of the first parking
    max_backoff_s: float = 60.0  # longest duration
    max_parked: int | None = None
    """Limit of parked children; one more ends the supervisor with the first cause. None: no limit."""
    max_times: int | None = None  # limit of parkings per child; one more failure ends the supervisor. None: no limit.

    def __post_init__(self) -> None:
        _check_window(self.max_restarts, self.period_s)
        if not 0 < self.backoff_s <= self.max_backoff_s:
            raise SpecError("invalid_backoff", f"0 < {self.backoff_s} <= {self.max_backoff_s} does not hold")
        if self.max_parked is not None:
            _count("invalid_max_parked", self.max_parked)
        if self.max_times is not None:
            _count("invalid_max_times", self.max_times)

    def delay_s(self, times_parked: int) -> float:
        """Seconds to wait after `times_parked` earlier parkings."""
        return min(self.backoff_s * 2.0 ** min(times_parked, 64), self.max_backoff_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """Specification of a pool: independent children with one shared restart budget."""

    intensity: int = 3  # restarts allowed within the period over all children; scale it with their number
    period_s: float = 5.0  # length of the inclusive window
    park: ParkPolicy | None = None  # policy for children in a crash loop; None: the pool gives up, as in OTP

    def __post_init__(self) -> None:
        _check_window(self.intensity, self.period_s)


ChildFunction: TypeAlias = Callable[["Context"], Awaitable[None]]
NodeSpec: TypeAlias = SupervisorSpec | PoolSpec
Start: TypeAlias = ChildFunction | NodeSpec


def check_significance(child: ChildSpec, auto_shutdown: AutoShutdown) -> None:
    """Raises SpecError (bad_combination) for a significant child that could never take effect."""
    if child.significant and auto_shutdown == "never":
        raise SpecError("bad_combination", f"{child.id!r} is significant, but auto_shutdown is never")
    if child.significant and child.restart == "permanent":
        raise SpecError("bad_combination", f"{child.id!r} is significant and permanent")


def _check_window(intensity: int, period_s: float) -> None:
    _count("invalid_intensity", intensity)
    if not 0 < period_s < math.inf:
        raise SpecError("invalid_period", f"{period_s}; valid: positive and finite")


def _is_coroutine_function(start: object) -> bool:
    while isinstance(start, partial):
        start = start.func
    return iscoroutinefunction(start) or (callable(start) and iscoroutinefunction(type(start).__call__))


def _count(code: str, value: object) -> None:
    if not isinstance(value, int) or value < 0:
        raise SpecError(code, f"{value!r}; valid: an integer of at least 0")


def _at_least_zero(code: str, value: float) -> None:
    if not value >= 0:  # refuses NaN too
        raise SpecError(code, f"{value}; valid: at least 0")


def _one_of(code: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise SpecError(code, f"{value!r}; valid: {', '.join(valid)}")
