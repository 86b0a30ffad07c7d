"""Assignments of the matching game to and from text, and the messages that refuse a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from envs.dialogue.states import MatchingRules

Pair = tuple[int, int]  # (reviewer, paper)
Pairs = tuple[Pair, ...]  # of an assignment, by paper as they were named

HEAD: Final = "Proposal:"
REFUSALS: Final = {
    "tag": "Begin what you say with one of [message], [propose], [accept], [reject].",
    "nothing proposed": "There is no proposal to accept or reject.",
    "unanswered": "There is a proposal: answer it with [accept] or [reject] first.",
    "empty": "The message is empty.",
    "head": "A proposal begins with the line 'Proposal:'.",
    "lines": "A proposal has {} lines ' - Paper: Reviewer', one a paper; yours has {}.",
    "line": "'{}' is no line ' - Paper: Reviewer'.",
    "paper": "There is no paper '{}'.",
    "reviewer": "There is no reviewer '{}'.",
    "paper twice": "Every paper must be named once.",
    "reviewer twice": "Every reviewer must be named once.",
}
"""Braces stand for what the reply said."""

_BREAK: Final = re.compile(r"\n|<br/>")  # the second as in dialop's logs
_LINE: Final = re.compile(r"\s*-\s*([^:]+?)\s*:\s*(.+?)\s*")


def refusal(what: str, *details: object) -> str:
    """A sentence of ``REFUSALS`` with its details, the long ones shortened."""
    return REFUSALS[what].format(*(str(detail)[:60] for detail in details))


def parse_proposal(body: str, rules: MatchingRules) -> Pairs | str:
    """The pairs of a proposal, or the reason why it is invalid.

    Names match exactly, and each is found in the whole list of names, wherever in the proposal it stands.
    """
    head, *lines = [line for line in _BREAK.split(body.replace("&emsp;", " ")) if line.strip()] or [""]
    if head.strip().lower() != HEAD.lower():
        return refusal("head")
    if len(lines) != rules.size:
        return refusal("lines", rules.size, len(lines))
    pairs = []
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            return refusal("line", line.strip())
        paper, reviewer = found.groups()
        if paper not in rules.papers:
            return refusal("paper", paper)
        if reviewer not in rules.reviewers:
            return refusal("reviewer", reviewer)
        pairs.append((rules.reviewers.index(reviewer), rules.papers.index(paper)))
    for side, what in ((1, "paper twice"), (0, "reviewer twice")):
        if len({pair[side] for pair in pairs}) < rules.size:
            return refusal(what)
    return tuple(pairs)


def proposal_text(pairs: Sequence[Pair], rules: MatchingRules) -> str:
    """The reply that proposes an assignment, papers in the order of the table."""
    by_paper = sorted(pairs, key=lambda pair: pair[1])
    return f"[propose] {HEAD}" + "".join(
        f"{line_start(rules.papers[paper])} {rules.reviewers[reviewer]}" for reviewer, paper in by_paper
    )


def line_start(paper: str) -> str:
    """Start of the line of a paper in a proposal."""
    return f"\n - {paper}:"
