"""The reviewer-paper matching of dialop: two players who see parts of a table agree on an assignment.

Replies are `[message] text`, `[propose] Proposal:` with a line ` - Paper: Reviewer` for every paper, and, once there
is a proposal, `[accept]` or `[reject]`. The reward of both is the value of the accepted assignment as a share of the
best one; without agreement it is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from selfplay.dialogue.contract import AGREED, LONG, REFUSED, JsonObject, Turn
from selfplay.games.errors import GameError
from selfplay_dialogue.states import number
from selfplay_dialogue.texts import KINDS, Pairs, as_read, opening, parse_proposal, refusal, system
from selfplay_dialogue.turns import ParsedReply, TurnGame, parse_reply

if TYPE_CHECKING:
    from selfplay_dialogue.states import MatchingRules, MatchingState


@final
class Matching(TurnGame):
    """One game (``DialogueGame``); seat 0 begins."""

    name = "matching"

    def __init__(self, rules: MatchingRules, state: MatchingState) -> None:
        if len(state.table) != rules.size:
            raise GameError(f"matching: a state of size {len(state.table)} for a game of size {rules.size}")
        super().__init__(rules.retries, rules.error_penalty, [opening(rules, state, seat) for seat in range(2)])
        self.rules = rules
        self.state = state
        self.mover = 0
        self.proposal: Pairs | None = None
        self.score = 0.0  # share of the best assignment that was agreed on
        self._taken = 0  # turns that count
        self._log: list[JsonObject] = []

    def system(self, seat: int) -> str:
        return system(self.rules)

    def act(self, text: str) -> Turn:
        self._check_running()
        reply = parse_reply(text, KINDS)
        error = self._problem(reply)
        if error is None and reply.kind == "propose":
            pairs = parse_proposal(reply.body, self.rules)
            error = pairs if isinstance(pairs, str) else None
            self.proposal = None if isinstance(pairs, str) else pairs
        turn = Turn(self.mover, text, reply.private, reply.kind, error)
        self.turns.append(turn)
        if error is None:
            self._take(reply)
        elif self._refuse(self.mover, error):
            self._finish(REFUSED)
        return turn

    def fail(self, reason: str) -> None:
        self._check_running()
        self._finish(reason)

    def record(self) -> JsonObject:
        """See ``DialogueGame``; field names are dialop's."""
        agreed = self.outcome is not None and self.outcome.reason == AGREED
        worth = self.state.worth(self.proposal or ()) if agreed else 0.0
        return {**self.state.to_json(), "action_log": list(self._log), "proposal_reward": number(worth)}

    def _problem(self, reply: ParsedReply) -> str | None:
        """Why a reply is against the rules; does not check that a proposal is valid."""
        if not reply.kind:
            return refusal("tag")
        answers = reply.kind in ("accept", "reject")
        if answers and self.proposal is None:
            return refusal("nothing proposed")
        if not answers and self.proposal is not None:
            return refusal("unanswered")
        if reply.kind == "message" and not reply.body:
            return refusal("empty")
        return None

    def _take(self, reply: ParsedReply) -> None:
        self._log.append(self._entry(reply))
        self._unseen[1 - self.mover].append(as_read(self.rules, reply.kind, reply.body))
        self._taken += 1
        self._tries = 0
        self.mover = 1 - self.mover
        if reply.kind == "accept" and self.proposal is not None:
            self.score = self.state.worth(self.proposal) / self.state.best
            self._finish(AGREED)
        elif self._taken >= self.rules.max_turns:
            self._finish(LONG)
        elif reply.kind == "reject":
            self.proposal = None

    def _entry(self, reply: ParsedReply) -> JsonObject:
        """A line of dialop's log."""
        seat = self.mover
        if reply.kind == "message":
            message = {"data": reply.body, "from_player": seat, "type": "utterance"}
            return {"type": "message", "player": seat, "message": message}
        if reply.kind == "propose":
            pairs = [list(pair) for pair in self.proposal or ()]
            return {"type": "proposal", "player": seat, "proposal": reply.body, "proposal_ids": pairs}
        response = {"accept": reply.kind == "accept", "from_player": seat}
        return {"type": "proposal_response", "player": seat, "response": response}

    def _finish(self, reason: str) -> None:
        self._end((self.score, self.score), reason)
