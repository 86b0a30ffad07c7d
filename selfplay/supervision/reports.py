"""What a tree tells its owner, as it happens: give `on_report=` a function and match on the type.

Every report says where (`supervisor`, the path from the root, such as "root/runners"). Calls are synchronous and must
not block; what the function raises is logged and otherwise ignored, since a broken dashboard must not stop the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from selfplay.supervision.exits import Cause, ChildRef, ExitReason


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A child is ready; `restarts` counts how often it was restarted before."""

    supervisor: str
    child: ChildRef
    restarts: int


@dataclass(frozen=True, slots=True)
class ChildStartFailed:
    """A child refused, raised, returned or ran out of time before it was ready."""

    supervisor: str
    child: ChildRef
    reason: ExitReason
    restarts: int
    lived_s: float  # from the making of its task


@dataclass(frozen=True, slots=True)
class ChildIgnored:
    """A child declined to start."""

    supervisor: str
    child: ChildRef


@dataclass(frozen=True, slots=True)
class ChildExited:
    """A child that had started has ended.

    Attributes:
        asked: its supervisor had asked for it (or killed it); an error then happened in its clean-up.
        abandoned: it had been given up before; ChildAbandoned came earlier.
        lived_s: seconds from the making of its task, by the tree's clock.
    """

    supervisor: str
    child: ChildRef
    reason: ExitReason
    restarts: int
    asked: bool
    abandoned: bool
    lived_s: float


@dataclass(frozen=True, slots=True)
class ChildAbandoned:
    """A child ignored its cancellation and could not be killed: it may run on, unsupervised.

    Attributes:
        alive: abandoned children of the whole tree that still run.
        total: abandoned children of the whole tree so far.
    """

    supervisor: str
    child: ChildRef
    alive: int
    total: int
    restarts: int
    lived_s: float


@dataclass(frozen=True, slots=True)
class ChildParked:
    """A child in a crash loop waits `delay_s` seconds; `times` counts how often it was parked, this time included."""

    supervisor: str
    child: ChildRef
    delay_s: float
    times: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class SupervisorStarting:
    """A supervisor begins to start its children."""

    supervisor: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class SupervisorStarted:
    """All children of a supervisor are ready."""

    supervisor: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class SupervisorStartFailed:
    """A child did not start; those before it were stopped again."""

    supervisor: str
    incarnation: int
    reason: ExitReason


@dataclass(frozen=True, slots=True)
class SupervisorGaveUp:
    """Too many restarts (or too many parked children); `cause` is the first of them."""

    supervisor: str
    incarnation: int
    why: str
    cause: Cause
    lived_s: float


@dataclass(frozen=True, slots=True)
class SupervisorEnded:
    """A supervisor that had started has ended, and its children before it."""

    supervisor: str
    incarnation: int
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
