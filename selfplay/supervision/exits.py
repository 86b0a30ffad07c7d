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
class Origin:
    """The error that a chain of errors (`raise ... from ...`) began with, and the innermost frame of its traceback."""

    message: str
    file: str = ""  # empty where nothing was raised
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Cause:
    """The failure that a longer story began with; text only, so that it keeps no frame alive."""

    supervisor: str
    child: ChildRef
    message: str
    traceback: str = ""
    origin: Origin | None = None

    def __str__(self) -> str:
        told = f"{self.supervisor}/{self.child.id} (incarnation {self.child.incarnation}): {self.message}"
        if self.origin is None or _words(self.origin.message) in _words(self.message):
            return told
        return f"{told}; it began with {self.origin}"


@dataclass(frozen=True, slots=True)
class ExitReason:
    """How an incarnation ended.

    Attributes:
        kind: normal, shutdown, killed or error.
        message: one line for people.
        traceback: text of the traceback where there was an exception.
        detail: the value given to Shutdown or Refuse.
        cause: first cause, where a supervisor gave up or failed to start because of a child.
        origin: what the exception itself came from, where there was one.
    """

    kind: ExitKind
    message: str = ""
    traceback: str = ""
    detail: object = None
    cause: Cause | None = None
    origin: Origin | None = None

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
        if asked:
            return SHUTDOWN
        message = "cancelled, but not by its supervisor"
        return ExitReason("error", message, _text(error), origin=origin_of(error))
    detail = error.detail if isinstance(error, Ending) else None
    return ExitReason("error", _line(error), _text(error), detail, origin=origin_of(error))


def origin_of(error: BaseException) -> Origin:
    """The first error of the chain that led to `error`: itself, where nothing did."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:  # a chain may be a ring
        chain.append(cause)
    for link in reversed(chain):  # one that was only named, and never raised, has no frames
        place = link.__traceback__
        if place is not None:
            while place.tb_next is not None:
                place = place.tb_next
            code = place.tb_frame.f_code
            return Origin(_line(chain[-1]), code.co_filename, place.tb_lineno, code.co_qualname)
    return Origin(_line(chain[-1]))


def _line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _words(text: str) -> str:
    return " ".join(text.split())


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
