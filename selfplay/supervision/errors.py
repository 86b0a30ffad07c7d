"""Errors of supervision, and exceptions with which a child ends itself (``Ending``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.supervision.exits import ChildRef, ExitReason


class SupervisionError(Exception):
    """Base of all errors of supervision."""


class SpecError(SupervisionError, ValueError):
    """Invalid specification; `code` is OTP's error name."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class StartError(SupervisionError):
    """A child did not start, for `reason`."""

    def __init__(self, child_id: str, reason: ExitReason) -> None:
        super().__init__(f"{child_id!r} did not start: {reason}")
        self.reason = reason


class NotRunningError(SupervisionError):
    """The supervisor does not run."""


class GaveUpError(SupervisionError):
    """The tree ended without a request."""

    def __init__(self, path: str, reason: ExitReason) -> None:
        super().__init__(f"supervisor {path!r} ended by itself: {reason}")
        self.reason = reason


class ChildError(SupervisionError):
    """The call is not possible in the child's state; `code` is OTP's error name."""

    code = "error"

    def __init__(self, child_id: str) -> None:
        super().__init__(f"{child_id!r}: {self.code}")


class NotFoundError(ChildError):
    """There is no such child."""

    code = "not_found"


class RunningError(ChildError):
    """The child runs; terminate it first."""

    code = "running"


class RestartingError(ChildError):
    """The child failed to restart and waits for the next attempt."""

    code = "restarting"


class AlreadyStartedError(ChildError):
    """A running child has this id; `ref` is its current incarnation."""

    code = "already_started"

    def __init__(self, child_id: str, ref: ChildRef) -> None:
        super().__init__(child_id)
        self.ref = ref


class AlreadyPresentError(ChildError):
    """A stopped child has this id; restart or delete it."""

    code = "already_present"


class Ending(Exception):
    """Base of exceptions with which a child ends itself; `detail` is copied to the reports."""

    def __init__(self, detail: object = None) -> None:
        super().__init__(*(() if detail is None else (detail,)))
        self.detail = detail


class Shutdown(Ending):
    """A normal end: only a permanent child is restarted."""


class Refuse(Ending):
    """The child cannot start. Raise before `ctx.ready()`; OTP: ``{error, Reason}``."""


class Ignore(Ending):
    """The child declines to start, which is not a failure. Raise before `ctx.ready()`."""
