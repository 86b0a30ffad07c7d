"""Renders the supervision tree of a run and its crashes for the terminal."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from selfplay.report.tree_status import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from selfplay.report.tree_status import ChildStatus, Crash, RunStatus, State

DEPTH: Final = 16  # maximum depth; a run has three levels
STYLES: Final[dict[State, str]] = {
    "starting": "yellow",
    "running": "green",
    "restarting": "yellow",
    "stopping": "yellow",
    "parked": "yellow",
    "stopped": "dim",
    "abandoned": "red",
}


def view(found: RunStatus, whole: bool = False) -> Group:
    """The tree, and below it the crashes: one line each, or with ``whole`` full reports."""
    parts: list[RenderableType] = [Text(f"{printable(found.run)}: {printable(found.fate)}"), _drawn(found)]
    parts.append(Text(count_text(found)))
    parts += [_report(crash) if whole else crash_text(crash) for crash in found.crashes]
    return Group(*parts)


def count_text(found: RunStatus) -> str:
    """How many crashed, and what is not known about them."""
    standing = found.standing
    known = [f"{counted(standing.crashes, 'crash', 'crashes')} in this session"]
    if standing.hanging:
        known.append(f"{counted(standing.hanging, 'thread')} left hanging")
    if standing.unwritten:
        known.append(f"{counted(standing.unwritten, 'crash report')} not written")
    if found.unreadable:
        known.append(f"{counted(found.unreadable, 'line')} of crashes not readable")
    return "; ".join(known)


def _drawn(found: RunStatus) -> Tree:
    top = Tree(Text(""), hide_root=True)
    places: dict[str, Tree] = {}
    for row in sorted(found.standing.rows, key=lambda row: row.id.count("/")):
        above = places.get(row.id.rpartition("/")[0], top) if row.id.count("/") < DEPTH else top
        places[row.id] = above.add(child_text(row, row.id if above is top else row.id.rpartition("/")[2]))
    return top


def child_text(row: ChildStatus, name: str) -> Text:
    """The status of a child, in lines."""
    text = Text(f"{printable(name)}  ").append(row.state, STYLES[row.state])
    if row.until is not None:
        text.append(f" until {_clock(row.until)}")
    text.append(f" since {_clock(row.since)}, incarnation {row.incarnation}")
    if row.restarts:
        text.append(f", {counted(row.restarts, 'restart')}", "yellow")
    if row.down_s is not None:
        text.append(f", down for {row.down_s:.1f} s before the last")
    if row.abandoned:
        text.append(f", {row.abandoned} abandoned and still running", "red")
    if row.crash:
        text.append(f"; last crash: {printable(row.crash)}", "dim")
    for line in row.stack.splitlines():
        text.append(f"\n  {printable(line)}", "red")
    return text


def crash_text(crash: Crash) -> Text:
    """A crash in one line."""
    when = f"{crash.time.astimezone():%Y-%m-%d %H:%M:%S}"
    text = Text(f"{when}  {printable(crash.id)} #{crash.incarnation}  ").append(crash.kind, "red")
    text.append(f" after {crash.lived_s:.1f} s" if crash.started else " before it was ready")
    if crash.message:
        text.append(f": {printable(crash.message)}")
    if crash.first_cause not in crash.message:
        text.append(f"; first cause: {printable(crash.first_cause)}")
    if crash.file:
        text.append(f"  [{printable(crash.file)}:{crash.line} {printable(crash.function)}]", "dim")
    return text


def _report(crash: Crash) -> Text:
    text = Text("\n").append_text(crash_text(crash)).append(f"\n  restarts before it: {crash.restarts}")
    if crash.at_s is not None:
        text.append(f"; {crash.at_s:.1f} s after the session began")
    for line in crash.traceback.splitlines():
        text.append(f"\n  {printable(line)}")
    return text


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"
