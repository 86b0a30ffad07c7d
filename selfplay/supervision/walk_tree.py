"""Lists all children of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.supervision.exits import ChildInfo
    from selfplay.supervision.node import Node


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
