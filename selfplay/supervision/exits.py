"""References to children, and the reasons why they end."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from selfplay.supervision.errors import Ending, Shutdown, StartError

ExitKind = Literal["normal", "shutdown", "killed", "error"]
ChildKind = Literal["worker", "supervisor"]
ChildState = Literal["running", "restarting", "parked", "stopped"]


@dataclass(frozen=True, slots=True)
class ChildRef:
    """One incarnation of a child; `incarnation` counts the attempts to start that id in the tree, from 1.

    The tree remembers the counters of the 10,000 most recently used ids. A forgotten or new id continues above the
    highest forgotten counter, so numbers can be skipped but are never reused.
    """

    id: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The first error of a chain (`raise ... from ...`), and the innermost frame of its traceback."""

    message: str
    file: str = ""  # empty if nothing was raised
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return self.message


class Trace:
    """An error with its chain, formatted on demand; holds no references to frames."""

    __slots__ = ("_captured",)

    def __init__(self, error: BaseException) -> None:
        self._captured: traceback.TracebackException | str
        try:
            self._captured = traceback.TracebackException.from_exception(error, lookup_lines=False, compact=True)
        except BaseException as failure:  # properties of the error may raise
            self._captured = _no_text(failure)

    def __str__(self) -> str:
        captured = self._captured
        return captured if isinstance(captured, str) else _joined(lambda: list(captured.format()))

    def __repr__(self) -> str:
        return repr(str(self))


@dataclass(frozen=True, slots=True)
class Cause:
    """The first failure in a chain of restarts or supervisors; holds no references to frames."""

    supervisor: str
    child: ChildRef
    message: str
    trace: Trace | None = field(default=None, compare=False)
    origin: Origin | None = None
    fatal: bool = False  # no supervisor restarts after it

    @property
    def traceback(self) -> str:
        """Text of the traceback where there was an exception; made when it is read."""
        return "" if self.trace is None else str(self.trace)

    def __str__(self) -> str:
        text = f"{self.supervisor}/{self.child.id} (incarnation {self.child.incarnation}): {self.message}"
        if self.origin is None or _words(self.origin.message) in _words(self.message):
            return text
        return f"{text}; it began with {self.origin}"


@dataclass(frozen=True, slots=True)
class ExitReason:
    """Reason for the end of an incarnation."""

    kind: ExitKind  # normal, shutdown, killed or error
    message: str = ""  # one line
    trace: Trace | None = field(default=None, compare=False)  # the exception, if any; `traceback` is its text
    detail: object = None  # argument of Shutdown or Refuse
    cause: Cause | None = None  # first cause, if a supervisor gave up or failed to start because of a child
    origin: Origin | None = None  # first error of the exception's chain, if any
    fatal: bool = False
    """Memory ran out, and a restart would only allocate the same again: supervisors give up, up to the root."""

    @property
    def traceback(self) -> str:
        """Text of the traceback, or "" without an exception."""
        return "" if self.trace is None else str(self.trace)

    @property
    def clean(self) -> bool:
        """True if a transient child with this reason is not restarted (OTP: normal, shutdown, {shutdown, T})."""
        return self.kind in ("normal", "shutdown")

    def __str__(self) -> str:
        text = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{text}; first cause: {self.cause}" if self.cause else text


NORMAL = ExitReason("normal")
SHUTDOWN = ExitReason("shutdown")
KILLED = ExitReason("killed")


def reason_of(error: BaseException, *, asked: bool, killed: bool) -> ExitReason:
    """Converts the exception that ended a child.

    A CancelledError is a normal end only if the supervisor requested it; otherwise it is a crash.
    """
    if isinstance(error, Shutdown):
        return ExitReason("shutdown", _joined(lambda: [str(error)]), detail=error.detail)
    if isinstance(error, asyncio.CancelledError):
        if killed:
            return KILLED
        if asked:
            return SHUTDOWN
        message = "cancelled, but not by its supervisor"
        return ExitReason("error", message, Trace(error), origin=origin_of(error))
    detail = error.detail if isinstance(error, Ending) else None
    chain = _chain(error)
    fatal = any(isinstance(link, MemoryError) or (isinstance(link, StartError) and link.reason.fatal) for link in chain)
    return ExitReason("error", _line(error), Trace(error), detail, origin=origin_of(error), fatal=fatal)


def _chain(error: BaseException) -> list[BaseException]:
    """An error and those that led to it, the first one last; their chain can be cyclic."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and not any(cause is link for link in chain):
        chain.append(cause)
    return chain


def origin_of(error: BaseException) -> Origin:
    """The first error of the chain that led to `error`, or `error` itself."""
    chain = _chain(error)
    for link in reversed(chain):  # an error that was never raised has no frames
        place = link.__traceback__
        if place is not None:
            while place.tb_next is not None:
                place = place.tb_next
            code = place.tb_frame.f_code
            return Origin(_line(chain[-1]), code.co_filename, place.tb_lineno, code.co_qualname)
    return Origin(_line(chain[-1]))


def _line(error: BaseException) -> str:
    return _joined(lambda: traceback.format_exception_only(error)).strip()


def _joined(make: Callable[[], list[str]]) -> str:
    """Joins text made by methods of an error, which may raise themselves."""
    try:
        return "".join(make())
    except BaseException as failure:  # formatting must not change how the child ended
        return _no_text(failure)


def _no_text(failure: BaseException) -> str:
    return f"<no text: {type(failure).__name__}>"


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
    """Result of `count_children()`: specifications, running children, and specifications by kind."""

    specs: int
    active: int
    supervisors: int
    workers: int
