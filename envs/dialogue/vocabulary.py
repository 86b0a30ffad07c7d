"""Pieces of which the texts of the matching game consist: what an embedded model has one token for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.dialogue.parsing import ERROR
from envs.dialogue.proposals import HEAD, REFUSALS, line_start
from envs.dialogue.states import LARGEST_FACTOR
from envs.dialogue.wording import KINDS

if TYPE_CHECKING:
    from envs.dialogue.states import MatchingRules


def words(rules: MatchingRules) -> list[str]:
    """All pieces, each once.

    Where the table is told as triples and the rules are not told, every observation and every reply of a scripted
    player is a row of them, taken greedily, the longest first; but for what a refused reply is told to have said.
    """
    most = int((rules.values - 1) * LARGEST_FACTOR) if rules.scaled else rules.values - 1
    pieces = [f"[{kind}]" for kind in KINDS]
    pieces += [f" {HEAD}", "\n", *map(line_start, rules.papers)]
    pieces += [f" {name}" for name in (*rules.papers, *rules.reviewers)]
    pieces += [f" {value}" for value in range(most + 1)]
    pieces += [ERROR, *(part for sentence in REFUSALS.values() for part in sentence.split("{}") if part)]
    return list(dict.fromkeys(pieces))
