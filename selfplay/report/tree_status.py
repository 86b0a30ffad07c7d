"""The status of a run's supervision tree, and its crashes, as validated records.

Texts come from errors and from untrusted files. Their length is limited, and non-printable characters are replaced
before they are shown.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints

LINE: Final = 1000  # characters of a message
TEXT: Final = 8000  # of a traceback
ROWS: Final = 10_000

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# The range allows unset clocks and stays representable in every time zone.
Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), le=datetime(9999, 1, 1, tzinfo=UTC))]
Line = Annotated[str, StringConstraints(max_length=LINE)]
Text = Annotated[str, StringConstraints(max_length=TEXT)]
State = Literal["starting", "running", "restarting", "parked", "stopping", "stopped", "abandoned"]
Kind = Literal["error", "killed", "abandoned", "gave up", "blocked"]


class Crash(BaseModel, frozen=True, extra="forbid"):
    """A crash of a child, a line of ``crashes.jsonl``."""

    time: Moment
    id: Line  # path in the tree
    incarnation: Count
    kind: Kind  # kind of its exit reason; also "gave up" for supervisors and "blocked" for the event loop
    started: bool  # it had reported ready
    restarts: Count  # earlier restarts of this child
    lived_s: Seconds
    at_s: Seconds | None = None  # since the start of the session, monotonic
    message: Line
    first_cause: Line  # first error of the chain, or the failure that made a supervisor give up
    file: Line = ""  # innermost frame of the first cause; empty if nothing was raised
    line: Count = 0
    function: Line = ""
    traceback: Text = ""  # of the whole chain, the first cause first


class ChildStatus(BaseModel, frozen=True, extra="forbid"):
    """The current status of a child."""

    id: Line  # path in the tree
    kind: Literal["worker", "supervisor"]
    state: State
    incarnation: Count
    restarts: Count
    since: Moment  # start of the state
    until: Moment | None = None  # end of parking
    abandoned: Count = 0  # abandoned incarnations that still run
    crash: Line = ""  # the last crash
    down_s: Seconds | None = None  # downtime before the last restart
    stack: Text = ""  # stacks of incarnations that are starting, stopping or abandoned


class TreeStatus(BaseModel, frozen=True, extra="forbid"):
    """The status of the whole tree, the content of ``tree.json``."""

    format_version: Literal[1] = 1
    written: Moment
    began: Moment  # of the session
    pid: Count
    ended: Line | None = None  # reason for the end; None while it runs, or after a kill
    hanging: Count = 0  # abandoned threads that still hang
    crashes: Count = 0  # in this session
    unwritten: Count = 0  # crashes whose report could not be written
    rows: tuple[ChildStatus, ...] = Field((), max_length=ROWS)


class RunStatus(BaseModel, frozen=True, extra="forbid"):
    """The status of a run's tree, for ``selfplay tree``."""

    run: str
    trainer: str | None  # process id of the running trainer, if any
    fate: str  # state of the run, in a sentence
    standing: TreeStatus
    crashes: tuple[Crash, ...]  # newest first
    unreadable: Count = 0  # unreadable lines


def cut(text: str, limit: int) -> str:
    """Shorten a text to ``limit`` characters by cutting the middle, and escape invalid Unicode."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def printable(text: str) -> str:
    """One line for a terminal; control and bidirectional characters become ``?``."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
