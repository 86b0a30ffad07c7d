"""The reviewer-paper matching of dialop: two players who see parts of a table agree on an assignment.

Replies are `[message] text`, `[propose] Proposal:` with a line ` - Paper: Reviewer` for every paper, and, once there
is a proposal, `[accept]` or `[reject]`. The reward of both is what the accepted assignment is worth, as a share of the
best one; without agreement it is 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, final

from envs.dialogue.contract import AGREED, LONG, REFUSED, JsonObject, Turn, Verdict
from envs.dialogue.parsing import Reply, take_apart
from envs.dialogue.states import MatchingRules, MatchingState
from envs.dialogue.wording import opening, system, told
from envs.errors import GameError

KINDS: Final = ("message", "propose", "accept", "reject")
_LINE: Final = re.compile(r"\s*-\s*([^:]+?)\s*:\s*(.+?)\s*")

Pairs = tuple[tuple[int, int], ...]
"""(reviewer, paper) of an assignment, by paper as they were named."""


@final
class Matching:
    """One game (``DialogueGame``); seat 0 begins."""

    def __init__(self, rules: MatchingRules, state: MatchingState) -> None:
        if len(state.table) != rules.size:
            raise GameError(f"matching: a state of size {len(state.table)} for a game of size {rules.size}")
        self.rules = rules
        self.state = state
        self.mover = 0
        self.verdict: Verdict | None = None
        self.proposal: Pairs | None = None
        self.score = 0.0  # share of the best assignment that was agreed on
        self.turns: list[Turn] = []
        self._taken = 0  # turns that count
        self._refused = [0, 0]  # replies of each seat
        self._tries = 0  # refused in this turn
        self._news: list[list[str]] = [[opening(rules, state, seat)] for seat in range(2)]
        self._log: list[JsonObject] = []

    def system(self, seat: int) -> str:
        """See ``DialogueGame``."""
        return system(self.rules)

    def observe(self, seat: int) -> str:
        """See ``DialogueGame``."""
        news, self._news[seat] = self._news[seat], []
        return "\n".join(news)

    def act(self, text: str) -> Turn:
        """See ``DialogueGame``."""
        if self.verdict is not None:
            raise GameError("matching: the game is over")
        reply = take_apart(text, KINDS)
        error = self._problem(reply)
        if error is None and reply.kind == "propose":
            pairs = parse_proposal(reply.body, self.rules)
            error = pairs if isinstance(pairs, str) else None
            self.proposal = None if isinstance(pairs, str) else pairs
        turn = Turn(self.mover, text, reply.private, reply.kind, error)
        self.turns.append(turn)
        if error is None:
            self._take(reply)
        else:
            self._refuse(error)
        return turn

    def fail(self, reason: str) -> None:
        """See ``DialogueGame``."""
        self._end(reason)

    def record(self) -> JsonObject:
        """See ``DialogueGame``; field names are dialop's."""
        worth = self.state.worth(self.proposal) if self.proposal is not None and self.score else 0.0
        return {**self.state.to_json(), "action_log": list(self._log), "proposal_reward": worth}

    def _problem(self, reply: Reply) -> str | None:
        """Why a reply is against the rules; whether a proposal is one is another question."""
        if not reply.kind:
            return f"Begin what you say with one of {', '.join(f'[{kind}]' for kind in KINDS)}."
        answers = reply.kind in ("accept", "reject")
        if answers and self.proposal is None:
            return "There is no proposal to accept or reject."
        if not answers and self.proposal is not None:
            return "There is a proposal: answer it with [accept] or [reject] first."
        if reply.kind == "message" and not reply.body:
            return "The message is empty."
        return None

    def _take(self, reply: Reply) -> None:
        seat, body = self.mover, reply.body
        if reply.kind == "message":
            self._log.append({"type": "message", "player": seat, "message": {"data": body, "from_player": seat, "type": "utterance"}})
        elif reply.kind == "propose" and self.proposal is not None:
            self._log.append({"type": "proposal", "player": seat, "proposal": body, "proposal_ids": [list(p) for p in self.proposal]})
        else:
            self._log.append({"type": "proposal_response", "player": seat, "response": {"accept": reply.kind == "accept", "from_player": seat}})
        self._news[1 - seat].append(told(self.rules, reply.kind, body))
        self._taken += 1
        self._tries = 0
        self.mover = 1 - seat
        if reply.kind == "accept" and self.proposal is not None:
            self.score = self.state.worth(self.proposal) / self.state.best
            self._end(AGREED)
        elif self._taken >= self.rules.max_turns:
            self._end(LONG)
        elif reply.kind == "reject":
            self.proposal = None

    def _refuse(self, error: str) -> None:
        self._news[self.mover].append(f"Error: {error}")
        self._refused[self.mover] += 1
        self._tries += 1
        if self._tries > self.rules.retries:
            self._end(REFUSED)

    def _end(self, reason: str) -> None:
        paid = [self.score - self.rules.error_penalty * refused for refused in self._refused]
        self.verdict = Verdict((paid[0], paid[1]), reason)


def parse_proposal(body: str, rules: MatchingRules) -> Pairs | str:
    """The pairs that a proposal names, or what is wrong with it.

    Names match exactly, and each is found in the whole list of names, wherever in the proposal it stands.
    """
    head, *lines = [line for line in re.split(r"\n|<br/>", body.replace("&emsp;", " ")) if line.strip()] or [""]
    if head.strip().lower() != "proposal:":
        return "A proposal begins with the line 'Proposal:'."
    if len(lines) != rules.size:
        return f"A proposal has {rules.size} lines ' - Paper: Reviewer', one a paper; yours has {len(lines)}."
    pairs = []
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            return f"'{line.strip()}' is no line ' - Paper: Reviewer'."
        paper, reviewer = found.groups()
        if paper not in rules.papers:
            return f"There is no paper '{paper}'."
        if reviewer not in rules.reviewers:
            return f"There is no reviewer '{reviewer}'."
        pairs.append((rules.reviewers.index(reviewer), rules.papers.index(paper)))
    for side, what in ((1, "paper"), (0, "reviewer")):
        if len({pair[side] for pair in pairs}) < rules.size:
            return f"Every {what} must be named once."
    return tuple(pairs)


def proposal_text(pairs: Sequence[tuple[int, int]], rules: MatchingRules) -> str:
    """The reply that proposes (reviewer, paper), papers in the order of the table."""
    lines = [f"\n - {rules.papers[paper]}: {rules.reviewers[reviewer]}" for reviewer, paper in sorted(pairs, key=lambda p: p[1])]
    return "[propose] Proposal:" + "".join(lines)
