"""What a run's supervisors and their children are doing, and how one of them died: records, bounded and checked.

Texts come from errors, and from files that may be a stranger's: they are cut to a length, and what is no printable
character is replaced before anybody sees it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

LINE: Final = 1000  # characters of a message
TEXT: Final = 8000  # of a traceback
ROWS: Final = 10_000

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# Any wall clock's, one that was never set among them, but none that no time zone could show.
Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), le=datetime(9999, 1, 1, tzinfo=UTC))]
Line = Annotated[str, StringConstraints(max_length=LINE)]
Text = Annotated[str, StringConstraints(max_length=TEXT)]
State = Literal["running", "restarting", "parked", "stopped", "abandoned"]
Kind = Literal["error", "killed", "abandoned", "gave up", "blocked"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Crash(_Record):
    """The death of one child, a line of ``crashes.jsonl``."""

    time: Moment
    id: Line  # path in the tree
    incarnation: Count
    kind: Kind  # how it ended; a supervisor may have given up, the event loop may have been blocked
    started: bool  # whether it had become ready
    restarts: Count  # of this child, before this end
    lived_s: Seconds
    message: Line
    first_cause: Line  # the error that the chain of errors began with, or the failure that a supervisor gave up for
    file: Line = ""  # the innermost frame of the first cause; empty where nothing was raised
    line: Count = 0
    function: Line = ""
    traceback: Text = ""  # of the whole chain, the first cause first


class Row(_Record):
    """One child as it is now."""

    id: Line  # path in the tree
    kind: Literal["worker", "supervisor"]
    state: State
    incarnation: Count
    restarts: Count
    since: Moment  # of the state
    until: Moment | None = None  # where it is parked
    abandoned: Count = 0  # incarnations that were given up and still run
    crash: Line = ""  # the last one


class Standing(_Record):
    """The whole tree at one moment, the content of ``tree.json``."""

    format_version: Literal[1] = 1
    written: Moment
    began: Moment  # of the session
    pid: Count
    ended: Line | None = None  # how; None while it goes on, or where nobody was left to say it
    hanging: Count = 0  # threads that were left behind and still hang
    crashes: Count = 0  # in this session
    unwritten: Count = 0  # of those, reports that could not be written
    rows: tuple[Row, ...] = Field((), max_length=ROWS)


class Found(_Record):
    """What is known of a run's tree, while it goes on and afterwards."""

    run: str
    trainer: str | None  # process id of the trainer that works there; None where there is none
    fate: str  # in a sentence
    standing: Standing
    crashes: tuple[Crash, ...]  # the newest first
    unreadable: Count = 0  # lines among them that say nothing


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, with as much of the end as of the beginning; nothing that UTF-8 has no word for."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def printable(text: str) -> str:
    """One line for a terminal: control characters, and those that turn the direction of writing, become a ``?``."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
