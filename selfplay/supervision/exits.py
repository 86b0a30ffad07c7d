"""How children are named, and how they end."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import Literal

from selfplay.supervision.errors import Ending, Shutdown

ExitKind = Literal["normal", "shutdown", "killed", "error"]
ChildKind = Literal["worker", "supervisor"]
ChildState = Literal["running", "restarting", "parked", "stopped"]


@dataclass(frozen=True, slots=True)
class ChildRef:
    """One incarnation of one child; `incarnation` counts the attempts to start that id, from 1, over the whole tree."""

    id: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Cause:
    """The failure that a longer story began with; text only, so that it keeps no frame alive."""

    supervisor: str
    child: ChildRef
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.supervisor}/{self.child.id} (incarnation {self.child.incarnation}): {self.message}"


@dataclass(frozen=True, slots=True)
class ExitReason:
    """How an incarnation ended.

    Attributes:
        kind: normal, shutdown, killed or error.
        message: one line for people.
        traceback: text of the traceback where there was an exception.
        detail: the value given to Shutdown or Refuse.
        cause: first cause, where a supervisor gave up or failed to start because of a child.
    """

    kind: ExitKind
    message: str = ""
    traceback: str = ""
    detail: object = None
    cause: Cause | None = None

    @property
    def clean(self) -> bool:
        """Whether a transient child with this reason stays down (OTP: normal, shutdown, {shutdown, T})."""
        return self.kind in ("normal", "shutdown")

    def __str__(self) -> str:
        text = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{text}; first cause: {self.cause}" if self.cause else text


NORMAL = ExitReason("normal")
SHUTDOWN = ExitReason("shutdown")
KILLED = ExitReason("killed")


def reason_of(error: BaseException, *, asked: bool, killed: bool) -> ExitReason:
    """Translates what ended a child's coroutine.

    A CancelledError counts as a wanted end only if the supervisor asked; a child that cancels itself has crashed.
    """
    if isinstance(error, Shutdown):
        return ExitReason("shutdown", str(error), detail=error.detail)
    if isinstance(error, asyncio.CancelledError):
        if killed:
            return KILLED
        return SHUTDOWN if asked else ExitReason("error", "cancelled, but not by its supervisor", _text(error))
    detail = error.detail if isinstance(error, Ending) else None
    return ExitReason("error", "".join(traceback.format_exception_only(error)).strip(), _text(error), detail)


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@dataclass(frozen=True, slots=True)
class ChildInfo:
    """One row of `which_children()`; `ref` is None unless the child runs."""

    id: str
    ref: ChildRef | None
    state: ChildState
    kind: ChildKind
    restarts: int


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """`count_children()`: specifications held, children running, and all of them by kind."""

    specs: int
    active: int
    supervisors: int
    workers: int
