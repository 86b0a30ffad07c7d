"""A run's tree for people: who runs, since when, how often it was restarted, and who died of what."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from selfplay.report.standing import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from selfplay.report.standing import Crash, Found, Row, State

DEPTH: Final = 16  # of what is drawn as a tree; a run has three
STYLES: Final[dict[State, str]] = {
    "running": "green",
    "restarting": "yellow",
    "parked": "yellow",
    "stopped": "dim",
    "abandoned": "red",
}


def view(found: Found, whole: bool = False) -> Group:
    """The tree, and underneath the crashes: a line each, or ``whole`` reports."""
    standing = found.standing
    parts: list[RenderableType] = [Text(f"{printable(found.run)}: {printable(found.fate)}"), _drawn(found)]
    counts = [f"{counted(standing.crashes, 'crash', 'crashes')} in this session"]
    if standing.hanging:
        counts.append(f"{counted(standing.hanging, 'thread')} left hanging")
    if standing.unwritten:
        counts.append(f"{counted(standing.unwritten, 'crash report')} not written")
    if found.unreadable:
        counts.append(f"{counted(found.unreadable, 'line')} of crashes not readable")
    parts.append(Text("; ".join(counts)))
    parts += [_report(crash) if whole else _line(crash) for crash in found.crashes]
    return Group(*parts)


def _drawn(found: Found) -> Tree:
    """Rows hang below the row whose path theirs begins with."""
    top = Tree(Text(""), hide_root=True)
    places: dict[str, Tree] = {}
    for row in sorted(found.standing.rows, key=lambda row: row.id.count("/")):
        above = places.get(row.id.rpartition("/")[0], top) if row.id.count("/") < DEPTH else top
        places[row.id] = above.add(_label(row, row.id if above is top else row.id.rpartition("/")[2]))
    return top


def _label(row: Row, name: str) -> Text:
    text = Text(f"{printable(name)}  ").append(row.state, STYLES[row.state])
    if row.until is not None:
        text.append(f" until {_clock(row.until)}")
    text.append(f" since {_clock(row.since)}, incarnation {row.incarnation}")
    if row.restarts:
        text.append(f", {counted(row.restarts, 'restart')}", "yellow")
    if row.abandoned:
        text.append(f", {row.abandoned} given up and still running", "red")
    if row.crash:
        text.append(f"; last crash: {printable(row.crash)}", "dim")
    return text


def _line(crash: Crash) -> Text:
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
    text = Text("\n").append_text(_line(crash)).append(f"\n  restarts before it: {crash.restarts}")
    for line in crash.traceback.splitlines():
        text.append(f"\n  {printable(line)}")
    return text


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"
