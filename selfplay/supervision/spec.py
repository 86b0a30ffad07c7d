"""What a tree is made of, as immutable values that are checked when they are made. Times in seconds."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
    """One child.

    Attributes:
        id: unique within a static supervisor; a label in a pool.
        start: the child's coroutine function, or the specification of a nested supervisor or pool.
        restart: permanent (always), transient (after a crash only) or temporary (never).
        shutdown_s: seconds between being asked to stop and being killed or abandoned; "brutal_kill" does not ask.
            0 neither, as no child could answer in time. None means 5 s for a worker and no limit for a supervisor.
        significant: its end by itself may end the supervisor, see `SupervisorSpec.auto_shutdown`.
        start_timeout_s: seconds within which it must be ready; None waits (a stop request is still heard).
        kill: called at once for brutal_kill and at a missed deadline, for instance to kill a process group. Must not
            block. A child whose processes differ from one incarnation to the next uses `ctx.on_kill` instead.

    Raises:
        SpecError: invalid_id, invalid_restart_type, invalid_shutdown or invalid_start_timeout.
    """

    id: str
    start: Start
    restart: Restart = "permanent"
    shutdown_s: float | BrutalKill | None = None
    significant: bool = False
    start_timeout_s: float | None = None
    kill: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if not self.id or "/" in self.id:
            raise SpecError("invalid_id", f"{self.id!r}; an id is not empty and has no '/'")
        _one_of("invalid_restart_type", self.restart, get_args(Restart))
        if isinstance(self.shutdown_s, str):
            _one_of("invalid_shutdown", self.shutdown_s, get_args(BrutalKill))
        elif self.shutdown_s is not None:
            _at_least_zero("invalid_shutdown", self.shutdown_s)
        if self.start_timeout_s is not None:
            _at_least_zero("invalid_start_timeout", self.start_timeout_s)

    @property
    def kind(self) -> ChildKind:
        """Worker or supervisor."""
        return "supervisor" if isinstance(self.start, SupervisorSpec | PoolSpec) else "worker"

    @property
    def grace(self) -> float | BrutalKill:
        """`shutdown_s` with its default filled in; no time at all is a brutal kill."""
        if self.shutdown_s == 0:
            return "brutal_kill"
        if self.shutdown_s is None:
            return math.inf if self.kind == "supervisor" else WORKER_SHUTDOWN_S
        return self.shutdown_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSpec:
    """A static supervisor: known children, in start order.

    Attributes:
        children: started in this order, stopped in reverse.
        strategy: who restarts with a crashed child: one_for_one (nobody), one_for_all, rest_for_one (later ones).
        intensity: restarts allowed within the period; one more and the supervisor gives up. A group restart is one.
        period_s: length of the inclusive window.
        auto_shutdown: end when any, or the last, significant child ended by itself and stays down.

    Raises:
        SpecError: invalid_strategy, invalid_intensity, invalid_period, invalid_auto_shutdown, duplicate_child_name,
            bad_combination.
    """

    children: tuple[ChildSpec, ...] = ()
    strategy: Strategy = "one_for_one"
    intensity: int = 1
    period_s: float = 5.0
    auto_shutdown: AutoShutdown = "never"

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
    """What a pool does with a child that crashes again and again: it waits, longer each time, and blocks nobody.

    A child that failed more than `max_restarts` times within `period_s` is parked for `backoff_s` seconds, doubled
    each time up to `max_backoff_s`. It is forgiven once it has stayed up for `period_s`, or has proved itself. Tries
    after parking are paced by the back-off and do not spend the pool's own restart budget, nor do restarts of a child
    that has proved itself; others before parking do. So crash loops alone cannot end a pool whose `intensity` is at
    least `max_restarts` times the number of its children, and crashes between pieces of work end none.

    Attributes:
        max_restarts: restarts of one child within the period before it is parked.
        period_s: length of the child's own inclusive window.
        backoff_s: first time in the park.
        max_backoff_s: longest time in the park.
        max_parked: more children parked at once than this end the pool with the first cause; None never does.

    Raises:
        SpecError: invalid_intensity, invalid_period, invalid_backoff, invalid_max_parked.
    """

    max_restarts: int = 3
    period_s: float = 60.0
    backoff_s: float = 1.0
    max_backoff_s: float = 60.0
    max_parked: int | None = None

    def __post_init__(self) -> None:
        _check_window(self.max_restarts, self.period_s)
        if not 0 < self.backoff_s <= self.max_backoff_s:
            raise SpecError("invalid_backoff", f"0 < {self.backoff_s} <= {self.max_backoff_s} does not hold")
        if self.max_parked is not None:
            _at_least_zero("invalid_max_parked", self.max_parked)

    def delay_s(self, times_parked: int) -> float:
        """Seconds in the park after having been parked `times_parked` times before."""
        return min(self.backoff_s * 2.0 ** min(times_parked, 64), self.max_backoff_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """A pool: children come and go by `start_child`, each on its own; one restart budget is shared by all.

    Attributes:
        max_children: restarting and parked ones count; None is no limit.
        intensity: restarts allowed within the period, over all children; make it grow with their number.
        period_s: length of the inclusive window.
        park: what to do with a child in a crash loop; None is OTP's way, the pool gives up.

    Raises:
        SpecError: invalid_max_children, invalid_intensity, invalid_period.
    """

    max_children: int | None = None
    intensity: int = 3
    period_s: float = 5.0
    park: ParkPolicy | None = None

    def __post_init__(self) -> None:
        _check_window(self.intensity, self.period_s)
        if self.max_children is not None:
            _at_least_zero("invalid_max_children", self.max_children)


ChildFunction: TypeAlias = Callable[["Context"], Awaitable[None]]
NodeSpec: TypeAlias = SupervisorSpec | PoolSpec
Start: TypeAlias = ChildFunction | NodeSpec


def check_significance(child: ChildSpec, auto_shutdown: AutoShutdown) -> None:
    """Raises SpecError (bad_combination) for a significant child that could never be so."""
    if child.significant and auto_shutdown == "never":
        raise SpecError("bad_combination", f"{child.id!r} is significant, but auto_shutdown is never")
    if child.significant and child.restart == "permanent":
        raise SpecError("bad_combination", f"{child.id!r} is significant and permanent")


def _check_window(intensity: int, period_s: float) -> None:
    _at_least_zero("invalid_intensity", intensity)
    if not 0 < period_s < math.inf:
        raise SpecError("invalid_period", f"{period_s}; it must be positive and finite")


def _at_least_zero(code: str, value: float) -> None:
    if not value >= 0:  # refuses NaN too
        raise SpecError(code, f"{value}; it must not be negative")


def _one_of(code: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise SpecError(code, f"{value!r}; valid are {', '.join(valid)}")
