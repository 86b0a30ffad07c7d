"""The state of a supervision tree as records for a file, from its reports and from the tree itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from selfplay.report.tree_status import LINE, ROWS, TEXT, ChildStatus, Crash, TreeStatus, cut
from selfplay.run.monitoring.secrets import without_secrets
from selfplay.runner.worker import Worker
from selfplay.supervision import (
    ChildAbandoned,
    ChildExited,
    ChildParked,
    ChildStarted,
    ChildStartFailed,
    ExitReason,
    Report,
    SupervisorEnded,
    SupervisorGaveUp,
    SupervisorStarted,
    SupervisorStarting,
    hanging,
    walk_tree,
)

if TYPE_CHECKING:
    from selfplay.report.tree_status import Kind, State
    from selfplay.supervision import Cause
    from selfplay.supervision.exits import ChildKind
    from selfplay.supervision.node import Node
    from selfplay.supervision.reports import ChildReport

STACKS: Final = 16  # of hanging children at a time: each costs the loop some tenths of a millisecond


@dataclass
class _Known:
    """The state of one child, from the reports: all of ``ChildStatus`` but its path."""

    since: datetime
    kind: ChildKind = "worker"
    state: State = "stopped"
    incarnation: int = 0
    restarts: int = 0
    until: datetime | None = None
    abandoned: int = 0
    crash: str = ""
    down_s: float | None = None
    stack: str = ""


class TreeObserver:
    """Keeps the state of one tree, from its reports. Nothing is measured by ``now``, the wall clock for people."""

    def __init__(self, root: Node, now: Callable[[], datetime]) -> None:
        self.crashes = 0
        self._root = root
        self._now = now
        self._began = now()
        self._began_s = root.clock.time()
        self._known = {root.path: _Known(self._began, "supervisor")}

    def on_report(self, report: Report) -> Crash | None:
        """Handle a report; returns its crash, if it is one. A clean end is none."""
        match report:
            case SupervisorStarting(supervisor=path):
                self._at(path).kind = "supervisor"
            case SupervisorStarted(supervisor=path, incarnation=incarnation):
                self._change(path, "running", incarnation)
            case SupervisorEnded(supervisor=path, incarnation=incarnation):
                self._change(path, "stopped", incarnation)
            case SupervisorGaveUp(supervisor=path, incarnation=incarnation, cause=cause):
                return self._crash(report, path, incarnation, "gave up", report.why, cause)
            case ChildStarted(restarts=restarts, down_s=down_s):
                known = self._change(_path(report), "running", report.child.incarnation)
                known.restarts, known.down_s = restarts, down_s
            case ChildParked(delay_s=delay_s):
                parked = self._change(_path(report), "parked", report.child.incarnation)
                parked.until = parked.since + timedelta(seconds=delay_s)
            case ChildExited() | ChildStartFailed() | ChildAbandoned():
                return self._end(report)
            case _:
                pass
        return None

    def standing(self, ended: str | None = None, unwritten: int = 0) -> TreeStatus:
        """The tree now; of supervisors that end or are gone, the last known state."""
        hangs = self._hangs()
        for path, info in walk_tree(self._root):
            known = self._at(path)
            known.kind, known.restarts = info.kind, info.restarts
            given_up = known.state == "abandoned" and info.state == "stopped"
            if info.state != known.state and not given_up and path not in hangs:
                self._change(path, info.state, known.incarnation)
        rows = [ChildStatus(id=cut(path, LINE), **vars(known)) for path, known in self._known.items()]
        return TreeStatus(
            written=self._now(), began=self._began, pid=os.getpid(), ended=None if ended is None else _line(ended),
            hanging=Worker.hanging(), crashes=self.crashes, unwritten=unwritten, rows=tuple(rows[:ROWS]),
        )  # fmt: skip

    def _end(self, report: ChildExited | ChildStartFailed | ChildAbandoned) -> Crash | None:
        path, incarnation = _path(report), report.child.incarnation
        known = self._at(path)
        known.restarts = report.restarts
        if isinstance(report, ChildAbandoned):
            known.abandoned += 1
            self._change(path, "abandoned", incarnation)
            return self._crash(report, path, incarnation, "abandoned", "did not stop in time", None)
        late = isinstance(report, ChildExited) and report.abandoned
        if late:
            known.abandoned -= 1
        if not late or (known.state == "abandoned" and not known.abandoned):
            self._change(path, "stopped", incarnation)
        reason, started = report.reason, isinstance(report, ChildExited)
        if reason.clean:  # of one that had not started: its supervisor ends
            return None
        kind: Kind = "killed" if reason.kind == "killed" else "error"
        return self._crash(report, path, incarnation, kind, reason.message, reason, started)

    def _hangs(self) -> set[str]:
        """Notes where those wait that are starting or stopping, or were abandoned; paths of the first two kinds."""
        stacks: dict[str, list[str]] = {}
        under_way = set()
        for found in islice(hanging(self._root), STACKS):
            text = f"incarnation {found.child.incarnation}, {found.state}:\n{found.stack}"
            stacks.setdefault(found.path, []).append(text)
            if found.state != "abandoned":
                under_way.add(found.path)
                if self._at(found.path).state != found.state:
                    self._change(found.path, found.state, found.child.incarnation)
        for path, known in self._known.items():
            if known.state == "starting" and path not in under_way:  # it declined, or was killed before it was ready
                self._change(path, "stopped", known.incarnation)
            known.stack = cut("\n".join(stacks.get(path, ())), TEXT)
        return under_way

    def _crash(
        self, report: ChildExited | ChildStartFailed | ChildAbandoned | SupervisorGaveUp, path: str, incarnation: int,
        kind: Kind, message: str, source: ExitReason | Cause | None, started: bool = True,
    ) -> Crash:  # fmt: skip
        """A crash with its first cause: the one that a child supervisor passed up, else the origin of the error."""
        self.crashes += 1
        known = self._at(path)
        cause = source.cause if isinstance(source, ExitReason) else source
        shown = cause or source
        origin = None if shown is None else shown.origin
        crash = Crash(
            time=self._now(), id=cut(path, LINE), incarnation=incarnation, kind=kind, started=started,
            restarts=known.restarts, lived_s=report.lived_s, at_s=max(report.at_s - self._began_s, 0),
            message=_line(message),
            first_cause=_line(str(cause or origin or message)),
            file="" if origin is None else cut(origin.file, LINE), line=0 if origin is None else origin.line,
            function="" if origin is None else cut(origin.function, LINE),
            traceback="" if shown is None else _text(shown.traceback, TEXT),
        )  # fmt: skip
        known.crash = cut(f"{kind}: {crash.message}" if crash.message else kind, LINE)
        return crash

    def _at(self, path: str) -> _Known:
        return self._known.setdefault(path, _Known(self._now()))

    def _change(self, path: str, state: State, incarnation: int) -> _Known:
        known = self._at(path)
        known.state, known.since, known.until, known.incarnation = state, self._now(), None, incarnation
        return known


def _path(report: ChildReport) -> str:
    return f"{report.supervisor}/{report.child.id}"


def _line(text: str) -> str:
    return _text(text, LINE)


def _text(text: str, limit: int) -> str:
    """Cut twice: before the search, to bound its time, and after it, so that no secret is cut in half and kept."""
    return cut(without_secrets(cut(text, 10 * limit)), limit)
