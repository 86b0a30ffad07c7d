"""The texts that players of the matching game read, and parsers for them.

``MatchingRules.told`` is `full`, with rules and an example, for a model that knows language; or `nothing`, only cells
and messages, for a model that learns the game from games alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from selfplay.dialogue.replies import ERROR, ParsedReply, is_refusal, parse_reply
from selfplay_dialogue.states import LARGEST_FACTOR, PAPERS, REVIEWERS, MatchingRules, MatchingState

KINDS: Final = ("message", "propose", "accept", "reject")  # valid tags
_PARTNER: Final = "Partner: "
_TABLE: Final = "Fits that you see:"

Fact = tuple[int, int, int]  # (reviewer, paper, value) as seen by one seat
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


# ---------------------------------------------------------------- rules


def system(rules: MatchingRules) -> str:
    """The rules with an example; "" with ``told`` `nothing`."""
    if rules.told == "nothing":
        return ""
    return "\n\n".join([_aim(rules), _moves(rules), _example(rules)])


def _aim(rules: MatchingRules) -> str:
    n = rules.size
    parts = [
        f"You and a partner assign {n} reviewers to {n} papers: every paper gets one reviewer, and every reviewer one "
        f"paper. How well a reviewer fits a paper is a number from 0 to {rules.values - 1}, the higher the better. "
        "Each of you sees some of these numbers only, and yours are not your partner's.",
        f"A fit that neither of you sees counts {rules.unseen:g}.",
    ]
    if rules.scaled:
        parts.append(
            "Before you are shown them, your numbers are multiplied by a factor from 1 to 10 that nobody tells you, "
            "and your partner's by another one: compare numbers that both of you see to find out how the two go "
            "together."
        )
    if rules.table == "csv":
        parts.append(
            "Your table has a line for each reviewer and a column for each paper; what you do not see is empty."
        )
    aim = (
        "Both of you win the same: the sum of the fits of the assignment that you agree on, as a share of the largest "
        f"sum that is possible. If you have not agreed after {rules.max_turns} turns, yours and your partner's "
        "together, you win nothing. So tell each other what matters, then agree on the best."
    )
    names = f"Papers: {', '.join(rules.papers)}.\nReviewers: {', '.join(rules.reviewers)}."
    return "\n".join([" ".join(parts), aim, names])


def _moves(rules: MatchingRules) -> str:
    refusal = "A reply that breaks these rules ends the game, and you win nothing."
    if rules.retries:
        refusal = (
            f"If a reply breaks these rules, you are told why, and you write another one, up to {rules.retries} times "
            "in a turn; your partner does not learn of it."
        )
    if rules.error_penalty:
        refusal += f" Each such reply costs you {rules.error_penalty:g}."
    return (
        "You write in turns; if your table is all that you have been told, you begin. A turn is one of these:\n"
        "[message] and any text: your partner reads it. A short way to tell a fit is `Paper Reviewer number`.\n"
        f"[propose] {HEAD} and below it a line ` - Paper: Reviewer` for each of the papers, with names exactly as "
        "above.\n"
        "[accept]: you agree to your partner's proposal, and the game ends.\n"
        "[reject]: you do not, and it goes on.\n"
        "A proposal must be accepted or rejected in the next turn. What you write before the tag is for yourself: "
        f"your partner does not read it. If you write several tags, the last one counts. {refusal}"
    )


def _example(rules: MatchingRules) -> str:
    """A short game of two papers, in the format of the real one."""
    small = replace(rules, size=2)
    top = rules.values - 1
    table = np.array([[0.7 * top, 0.2 * top], [0.9 * top, 0.8 * top]]).round()
    masks = np.array([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], np.bool_)
    state = MatchingState(table, masks, (1.0, 1.0), float(table[0, 0] + table[1, 1]))
    mine, other = ("; ".join(facts_text([fact]).strip() for fact in state.shown(seat)) for seat in range(2))
    lines = [
        "A game of 2 papers, as one player saw it:",
        opening(small, state, 0),
        f"You: Both fit {PAPERS[0]}; I need to know the rest. [message] {mine}. What do you see?",
        as_read(small, "message", f"{other}."),
        f"You: {proposal_text([(0, 0), (1, 1)], small)}",
        as_read(small, "accept", ""),
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------- observations


def opening(rules: MatchingRules, state: MatchingState, seat: int) -> str:
    """The table as a seat sees it, without any tag."""
    shown = state.shown(seat)
    if rules.table == "triples":
        if rules.told == "nothing":
            return facts_text(shown)
        return "\n".join([_TABLE, *(facts_text([fact]).strip() for fact in shown)])
    cells = {(reviewer, paper): str(value) for reviewer, paper, value in shown}
    rows = [
        ",".join([name, *(cells.get((row, column), "") for column in range(rules.size))])
        for row, name in enumerate(rules.reviewers)
    ]
    return "\n".join([_TABLE, _header(rules), *rows])


def as_read(rules: MatchingRules, kind: str, body: str) -> str:
    """A reply in the form that the other seat reads."""
    said = f"[{kind}] {body}".strip()
    return said if rules.told == "nothing" else _PARTNER + said


def partner_reply(observation: str) -> ParsedReply:
    """The partner's reply within an observation; kind "" if there is none.

    It has one tag, since the last one counts, and an ``opening`` has none.
    """
    return parse_reply("" if is_refusal(observation) else observation, KINDS)


def table_in(rules: MatchingRules, observation: str) -> list[Fact]:
    """Cells of the table in the first observation of a seat."""
    shown = partner_reply(observation).private
    if rules.table == "triples":
        return facts_in(rules, shown)
    lines = shown.split("\n")
    rows = lines[lines.index(_header(rules)) + 1 :][: rules.size] if _header(rules) in lines else []
    cells = [line.split(",")[1:] for line in rows]
    return [(row, column, int(cell)) for row, line in enumerate(cells) for column, cell in enumerate(line) if cell]


def _header(rules: MatchingRules) -> str:
    return ",".join(["", *rules.papers])


# ---------------------------------------------------------------- cells


def facts_text(facts: Iterable[Fact]) -> str:
    """Cells as triples ` PAPER REVIEWER value`."""
    return "".join(f" {PAPERS[paper]} {REVIEWERS[reviewer]} {value}" for reviewer, paper, value in facts)


_FACT: Final = re.compile(rf"\b({'|'.join(PAPERS)}) ({'|'.join(REVIEWERS)}) ([0-9]{{1,6}})(?![0-9])")


def facts_in(rules: MatchingRules, text: str) -> list[Fact]:
    """Cells of the game that a text names as triples."""
    found = [(REVIEWERS.index(who), PAPERS.index(what), int(value)) for what, who, value in _FACT.findall(text)]
    return [fact for fact in found if max(fact[:2]) < rules.size]


# ---------------------------------------------------------------- proposals and refusals


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


# ---------------------------------------------------------------- vocabulary


def vocabulary(rules: MatchingRules) -> list[str]:
    """The vocabulary: pieces of text that are one token of an embedded model each.

    With the table as triples and without rules, every observation and every reply of a scripted player splits
    into pieces greedily, the longest first. Only the quotation in the message about a refused reply may not.
    """
    most = int((rules.values - 1) * LARGEST_FACTOR) if rules.scaled else rules.values - 1
    pieces = [f"[{kind}]" for kind in KINDS]
    pieces += [f" {HEAD}", "\n", *map(line_start, rules.papers)]
    pieces += [f" {name}" for name in (*rules.papers, *rules.reviewers)]
    pieces += [f" {value}" for value in range(most + 1)]
    pieces += [ERROR, *(part for sentence in REFUSALS.values() for part in sentence.split("{}") if part)]
    return list(dict.fromkeys(pieces))
