"""Lists all children of a tree, and those that are starting or stopping with the stacks of their awaits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import asyncio

    from selfplay.supervision.child import Child
    from selfplay.supervision.exits import ChildInfo, ChildRef
    from selfplay.supervision.node import Node

HangingState = Literal["starting", "stopping", "abandoned"]


def walk_tree(root: Node) -> Iterator[tuple[str, ChildInfo]]:
    """Yields every child below `root` with its path, parents first; never blocks.

    A supervisor that is ending or has ended lists no children.
    """
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
    """A worker that is not ready yet, or that was asked to end and still runs.

    Attributes:
        path: path from the root, such as "root/runners/runner-000".
        stack: one line per coroutine, outermost first.
    """

    path: str
    child: ChildRef
    state: HangingState
    stack: str


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
