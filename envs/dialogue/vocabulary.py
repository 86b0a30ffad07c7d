"""The vocabulary of the matching game: pieces of text for which an embedded model has one token each."""

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

    With the table told as triples and without rules, every observation and every reply of a scripted player splits
    into pieces greedily, the longest first. Only the quotation in the message about a refused reply may not.
    """
    most = int((rules.values - 1) * LARGEST_FACTOR) if rules.scaled else rules.values - 1
    pieces = [f"[{kind}]" for kind in KINDS]
    pieces += [f" {HEAD}", "\n", *map(line_start, rules.papers)]
    pieces += [f" {name}" for name in (*rules.papers, *rules.reviewers)]
    pieces += [f" {value}" for value in range(most + 1)]
    pieces += [ERROR, *(part for sentence in REFUSALS.values() for part in sentence.split("{}") if part)]
    return list(dict.fromkeys(pieces))
