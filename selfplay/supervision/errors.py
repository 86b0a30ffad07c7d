"""Errors of supervision, and the words with which a child ends itself.

SupervisionError           a tree was described or used wrongly, or could not start
├── SpecError              a specification that is refused; `code` is OTP's word for it
├── StartError             a child, and with it perhaps a whole supervisor, did not start
├── NotRunningError        a call to a supervisor that has ended or is about to (OTP: noproc)
├── GaveUpError            raised by `running()` when the tree ended by itself; names the first cause
└── ChildError             a call about a child that cannot be done now
    ├── NotFoundError      no such child
    ├── RunningError       the child runs
    ├── RestartingError    the child failed to restart and will be tried again
    ├── AlreadyStartedError  the id is taken by a running child
    ├── AlreadyPresentError  the id is taken by a child that does not run
    └── MaxChildrenError   the pool is full

Raised by children (`Ending`): Shutdown, Refuse, Ignore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.supervision.exits import ChildRef, ExitReason


class SupervisionError(Exception):
    """Root of everything that supervision raises on purpose."""


class SpecError(SupervisionError, ValueError):
    """A specification is refused; `code` is OTP's word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class StartError(SupervisionError):
    """A child did not start; `reason` says why."""

    def __init__(self, child_id: str, reason: ExitReason) -> None:
        super().__init__(f"{child_id!r} did not start: {reason}")
        self.child_id = child_id
        self.reason = reason


class NotRunningError(SupervisionError):
    """The supervisor that was called does not run (any more)."""


class GaveUpError(SupervisionError):
    """The tree ended by itself although nobody asked it to."""

    def __init__(self, path: str, reason: ExitReason) -> None:
        super().__init__(f"supervisor {path!r} ended by itself: {reason}")
        self.reason = reason


class ChildError(SupervisionError):
    """A call about a child that cannot be done in its present state; `code` is OTP's word for why."""

    code = "error"

    def __init__(self, child_id: str) -> None:
        super().__init__(f"{child_id!r}: {self.code}")
        self.child_id = child_id


class NotFoundError(ChildError):
    """There is no such child."""

    code = "not_found"


class RunningError(ChildError):
    """The child runs; terminate it first."""

    code = "running"


class RestartingError(ChildError):
    """The child failed to restart and waits for its next try."""

    code = "restarting"


class AlreadyStartedError(ChildError):
    """A running child has this id; `ref` is its present incarnation."""

    code = "already_started"

    def __init__(self, child_id: str, ref: ChildRef) -> None:
        super().__init__(child_id)
        self.ref = ref


class AlreadyPresentError(ChildError):
    """A child that does not run has this id; restart or delete it."""

    code = "already_present"


class MaxChildrenError(ChildError):
    """The pool has `max_children` children, restarting and parked ones included."""

    code = "max_children"


class Ending(Exception):
    """Root of what a child raises to say how it ends; `detail` is any value for the reports."""

    def __init__(self, detail: object = None) -> None:
        super().__init__(*(() if detail is None else (detail,)))
        self.detail = detail


class Shutdown(Ending):
    """A wanted end: a permanent child is restarted, others are not, and nobody is alarmed."""


class Refuse(Ending):
    """The child cannot start now: raised before `ctx.ready()`, it is OTP's ``{error, Reason}``."""


class Ignore(Ending):
    """The child declines to start: raised before `ctx.ready()`, its place stays empty and that is no failure."""
