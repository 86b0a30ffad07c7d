"""Reports of a tree: pass a function as `on_report=` and match on the type.

`supervisor` is the path from the root, such as "root/runners". Calls are synchronous and must not block. Exceptions of
the function are logged and ignored, so that a broken dashboard does not stop the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from selfplay.supervision.exits import Cause, ChildRef, ExitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """Base of all reports."""

    at_s: float = 0.0  # time by the tree's monotonic clock, in seconds


@dataclass(frozen=True, slots=True)
class ChildReport(Stamped):
    """Base of reports about a child."""

    supervisor: str
    child: ChildRef


@dataclass(frozen=True, slots=True)
class SupervisorReport(Stamped):
    """Base of reports about a supervisor itself."""

    supervisor: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class ChildStarted(ChildReport):
    """A child is ready."""

    restarts: int  # number of earlier restarts
    down_s: float | None = None
    """Seconds since the end of the previous incarnation, including failed attempts and parking; None at the first
    start."""


@dataclass(frozen=True, slots=True)
class ChildStartFailed(ChildReport):
    """A child refused, raised, returned or timed out before it was ready."""

    reason: ExitReason
    restarts: int
    lived_s: float  # since its start


@dataclass(frozen=True, slots=True)
class ChildIgnored(ChildReport):
    """A child declined to start."""


@dataclass(frozen=True, slots=True)
class ChildExited(ChildReport):
    """A child that had started has ended."""

    reason: ExitReason
    restarts: int
    asked: bool  # its supervisor requested the end; an error then happened during clean-up
    abandoned: bool  # it was abandoned earlier, see ChildAbandoned
    lived_s: float  # seconds since its start, by the tree's clock


@dataclass(frozen=True, slots=True)
class ChildAbandoned(ChildReport):
    """A child suppressed its cancellation and could not be killed; it may keep running unsupervised."""

    alive: int  # abandoned children of the whole tree that still run
    total: int  # abandoned children of the whole tree so far
    restarts: int
    lived_s: float


@dataclass(frozen=True, slots=True)
class ChildParked(ChildReport):
    """A child in a crash loop waits `delay_s` seconds; `times` counts its parkings, including this one."""

    delay_s: float
    times: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class SupervisorStarting(SupervisorReport):
    """A supervisor starts its children."""


@dataclass(frozen=True, slots=True)
class SupervisorStarted(SupervisorReport):
    """All children of a supervisor are ready."""


@dataclass(frozen=True, slots=True)
class SupervisorStartFailed(SupervisorReport):
    """A child did not start; the children before it were stopped."""

    reason: ExitReason


@dataclass(frozen=True, slots=True)
class SupervisorGaveUp(SupervisorReport):
    """Too many restarts or parked children; `cause` is the first failure."""

    why: str
    cause: Cause
    lived_s: float


@dataclass(frozen=True, slots=True)
class SupervisorEnded(SupervisorReport):
    """A started supervisor and all its children have ended."""

    reason: ExitReason


Report: TypeAlias = (
    ChildStarted
    | ChildStartFailed
    | ChildIgnored
    | ChildExited
    | ChildAbandoned
    | ChildParked
    | SupervisorStarting
    | SupervisorStarted
    | SupervisorStartFailed
    | SupervisorGaveUp
    | SupervisorEnded
)
