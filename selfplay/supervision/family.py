"""A whole tree at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selfplay.supervision.exits import ChildInfo
    from selfplay.supervision.node import Node


def family(root: Node) -> Iterator[tuple[str, ChildInfo]]:
    """Every child below `root` with its path, those above before those below; never blocks.

    A supervisor that ends, or has ended, tells nothing of its children any more.
    """
    if not root.alive:
        return
    nodes = {child.ref: node for child, node in root._nursery.live.items()}
    for info in root.which_children():
        yield f"{root.path}/{info.id}", info
        node = None if info.ref is None else nodes.get(info.ref)
        if node is not None:
            yield from family(node)
