"""What the players of the matching game are told, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envs.dialogue.states import PAPERS, REVIEWERS, MatchingRules, MatchingState

Fact = tuple[int, int, int]
"""(reviewer, paper, value) as its owner sees it."""


def system(rules: MatchingRules) -> str:
    """The rules, with an example; nothing where the players are told nothing."""
    if rules.told == "nothing":
        return ""
    raise NotImplementedError


def opening(rules: MatchingRules, state: MatchingState, seat: int) -> str:
    """The table as a seat sees it."""
    if rules.table == "triples":
        return facts_text(state.shown(seat))
    header = "," + ",".join(rules.papers)
    cells = {(reviewer, paper): str(value) for reviewer, paper, value in state.shown(seat)}
    rows = [
        f"{name}," + ",".join(cells.get((row, column), "") for column in range(rules.size))
        for row, name in enumerate(rules.reviewers)
    ]
    return "\n".join(["Reviewer Paper Similarity Scores:", header, *rows])


def told(rules: MatchingRules, kind: str, body: str) -> str:
    """A reply as the other seat reads it."""
    said = f"[{kind}] {body}".strip()
    return said if rules.told == "nothing" else f"Partner: {said}"


def facts_text(facts: Iterable[Fact]) -> str:
    """Cells as triples `PAPER REVIEWER value`."""
    return "".join(f" {PAPERS[paper]} {REVIEWERS[reviewer]} {value}" for reviewer, paper, value in facts)


_FACT = re.compile(rf"({'|'.join(PAPERS)}) ({'|'.join(REVIEWERS)}) (\d+)")


def facts_in(text: str) -> list[Fact]:
    """Cells that a text names in that form."""
    return [
        (REVIEWERS.index(reviewer), PAPERS.index(paper), int(value)) for paper, reviewer, value in _FACT.findall(text)
    ]


def table_in(rules: MatchingRules, text: str) -> list[Fact]:
    """Cells of the table that an ``opening`` shows."""
    if rules.table == "triples":
        return facts_in(text.partition("\n")[0])
    _, _, *rows = text.splitlines()
    facts = []
    for row, line in enumerate(rows[: rules.size]):
        _, *cells = line.split(",")
        facts += [(row, column, int(cell)) for column, cell in enumerate(cells) if cell]
    return facts
