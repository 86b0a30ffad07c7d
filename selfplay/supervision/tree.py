"""State shared by all supervisors of one tree, and lists of its children."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Literal

from selfplay.supervision.clock import Clock, MonotonicClock
from selfplay.supervision.exits import ChildRef

if TYPE_CHECKING:
    from selfplay.supervision.child import Child
    from selfplay.supervision.exits import ChildInfo
    from selfplay.supervision.node import Node
    from selfplay.supervision.reports import Report

REMEMBERED_IDS = 10_000  # ids with a counter of their own: about 2 MB
HangingState = Literal["starting", "stopping", "abandoned"]
logger = logging.getLogger(__name__)


class TreeState:
    """Clock, report listener and counters of a tree."""

    def __init__(self, clock: Clock | None = None, on_report: Callable[[Report], None] | None = None) -> None:
        self.clock: Clock = MonotonicClock() if clock is None else clock  # source of time
        self.abandoned: dict[Child, str] = {}  # abandoned children that still run, with the path of their supervisor
        self.abandoned_total = 0  # number of children ever abandoned
        self.empty = asyncio.Event()  # set while every child has ended or was abandoned
        self.empty.set()
        self._living: set[Child] = set()
        self._on_report = on_report
        self._attempts: OrderedDict[tuple[str, str], int] = OrderedDict()  # least recently used first
        self._most_forgotten = 0  # upper bound of the attempts of all forgotten ids

    def next_ref(self, path: str, child_id: str) -> ChildRef:
        """Returns the reference of the next incarnation of a child; no number is used twice."""
        attempt = self._attempts.pop((path, child_id), self._most_forgotten) + 1
        self._attempts[path, child_id] = attempt
        if len(self._attempts) > REMEMBERED_IDS:
            self._most_forgotten = max(self._most_forgotten, self._attempts.popitem(last=False)[1])
        return ChildRef(child_id, attempt)

    def began(self, child: Child) -> None:
        self._living.add(child)
        self.empty.clear()

    def gone(self, child: Child) -> None:
        """Removes a child that has ended or was abandoned."""
        self._living.discard(child)
        if not self._living:
            self.empty.set()

    def abandon(self, path: str, child: Child) -> None:
        """Registers an abandoned child until it ends."""
        self.abandoned[child] = path
        self.abandoned_total += 1

    def report(self, report: Report) -> None:
        """Calls the listener and logs any exception that it raises, SystemExit and KeyboardInterrupt included."""
        if self._on_report is None:
            return
        try:
            self._on_report(replace(report, at_s=self.clock.time()))
        except BaseException:
            logger.exception("the listener failed on %s of %s", type(report).__name__, report.supervisor)


def walk_tree(root: Node) -> Iterator[tuple[str, ChildInfo]]:
    """Yields every child below `root` with its path, parents first; none of a supervisor that ends. Never blocks."""
    if not root.alive:
        return
    nodes = {child.ref: node for child, node in root._nursery.live.items()}
    for info in root.which_children():
        yield f"{root.path}/{info.id}", info
        node = None if info.ref is None else nodes.get(info.ref)
        if node is not None:
            yield from walk_tree(node)


@dataclass(frozen=True, slots=True)
class HangingChild:
    """A worker that is not ready yet, or that was asked to end and still runs."""

    path: str  # path from the root, such as "root/runners/runner-000"
    child: ChildRef
    state: HangingState
    stack: str  # one line per coroutine, outermost first


def hanging(root: Node) -> Iterator[HangingChild]:
    """Yields all such children of the tree, including abandoned ones, also while the tree stops; never blocks."""
    for child, path in root._tree.abandoned.items():
        yield _of(child, path, "abandoned")
    yield from _below(root)


def _below(node: Node) -> Iterator[HangingChild]:
    for child, inner in node._nursery.live.items():
        if inner is not None:
            yield from _below(inner)
        elif child.asked or not child.started:
            yield _of(child, node.path, "stopping" if child.asked else "starting")


def _of(child: Child, path: str, state: HangingState) -> HangingChild:
    return HangingChild(f"{path}/{child.ref.id}", child.ref, state, "\n".join(_stack(child.task)))


def _stack(task: asyncio.Task[None]) -> Iterator[str]:
    """Follows the chain of awaits; `Task.get_stack` returns only the outermost frame of a suspended task."""
    link: object = task.get_coro()
    while link is not None:
        match link:
            case CoroutineType():
                frame, link = link.cr_frame, link.cr_await
            case GeneratorType():
                frame, link = link.gi_frame, link.gi_yieldfrom
            case AsyncGeneratorType():
                frame, link = link.ag_frame, link.ag_await
            case _:
                return
        if frame is not None:
            code = frame.f_code
            yield f"{code.co_qualname} ({code.co_filename}, line {frame.f_lineno})"
