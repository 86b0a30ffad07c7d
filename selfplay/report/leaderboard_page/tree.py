"""The supervision tree of a run and its newest crashes, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from selfplay.report.leaderboard_page.facts import paragraphs, points
from selfplay.report.tree import DEPTH, child_text, count_text, crash_text

if TYPE_CHECKING:
    from selfplay.report.tree_status import ChildStatus, RunStatus


def tree_section(found: RunStatus) -> str:
    """Changes only with the state of a child, and with crashes."""
    children: dict[str, list[ChildStatus]] = {}
    for row in found.standing.rows:
        children.setdefault(row.id.rpartition("/")[0], []).append(row)
    crashes = points(crash_text(crash).plain for crash in found.crashes) if found.crashes else ""
    return _below("", children, 0) + paragraphs([f"{count_text(found)}."], "quiet") + crashes


def _below(path: str, children: dict[str, list[ChildStatus]], depth: int) -> str:
    """The children of a supervisor, each with those below it; takes them out of ``children``."""
    here = children.pop(path, [])
    if not here or depth > DEPTH:
        return ""
    items = (
        f'<li class="{row.state}">{escape(child_text(row, row.id.rpartition("/")[2]).plain)}'
        f"{_below(row.id, children, depth + 1)}</li>"
        for row in here
    )
    return f'<ul class="tree">{"".join(items)}</ul>'
