"""The reviewer-paper matching of dialop: two players who see parts of a table agree on an assignment.

Replies are `[message] text`, `[propose] Proposal:` with a line ` - Paper: Reviewer` for every paper, and, once there
is a proposal, `[accept]` or `[reject]`. The reward of both is the value of the accepted assignment as a share of the
best one; without agreement it is 0.
"""

from __future__ import annotations

from typing import cast, final

from selfplay.dialogue.contract import AGREED, JsonObject
from selfplay.dialogue.replies import ParsedReply, parse_reply
from selfplay.dialogue.text_dialogue import TextDialogue
from selfplay.games.errors import GameError
from selfplay.games.text_game import TextGame
from selfplay_dialogue.states import MatchingRules, MatchingState, draw_states, number
from selfplay_dialogue.texts import KINDS, Pairs, as_read, opening, parse_proposal, refusal, system


@final
class Matching(TextGame):
    """One game; seat 0 begins. ``start`` makes it for the trainer."""

    tags = KINDS

    def __init__(self, rules: MatchingRules = MatchingRules()) -> None:  # noqa: B008 (frozen)
        self._rules = rules

    def reset(self, seed: int) -> None:
        self.begin(draw_states(self._rules, [seed])[0])

    def begin(self, state: MatchingState) -> None:
        self.state, self.mover = state, 0
        self.proposal: Pairs | None = None
        self.log: list[JsonObject] = []  # dialop's, of accepted replies
        self._said = ""  # last reply, as the other seat reads it

    def rules(self, seat: int) -> str:
        return system(self._rules)

    def observe(self, seat: int) -> str:
        shown = [opening(self._rules, self.state, seat)] if len(self.log) < 2 else []
        return "\n".join([*shown, self._said] if self._said and seat == self.mover else shown)

    def act(self, text: str) -> str | tuple[float, float, str] | None:
        reply = parse_reply(text, KINDS)
        if (problem := self._problem(reply)) is not None:
            return problem
        if reply.kind == "propose":
            pairs = parse_proposal(reply.body, self._rules)
            if isinstance(pairs, str):
                return pairs
            self.proposal = pairs
        self.log.append(self._entry(reply))
        self._said = as_read(self._rules, reply.kind, reply.body)
        self.mover = 1 - self.mover
        if reply.kind == "accept" and self.proposal is not None:
            score = self.state.worth(self.proposal) / self.state.best
            return score, score, AGREED
        if reply.kind == "reject":
            self.proposal = None
        return None

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


def start(rules: MatchingRules, state: MatchingState) -> TextDialogue:
    """A game on a state; GameError if it is of another size."""
    if len(state.table) != rules.size:
        raise GameError(f"matching: a state of size {len(state.table)} for a game of size {rules.size}")
    game = Matching(rules)
    game.begin(state)
    return TextDialogue(
        game, "matching", retries=rules.retries, error_penalty=rules.error_penalty, max_turns=rules.max_turns,
        shared=True, record=_record,
    )  # fmt: skip


def _record(dialogue: TextDialogue) -> JsonObject:
    """See ``DialogueGame``; field names are dialop's."""
    game = cast("Matching", dialogue.game)
    agreed = dialogue.outcome is not None and dialogue.outcome.reason == AGREED
    worth = game.state.worth(game.proposal or ()) if agreed else 0.0
    return {**game.state.to_json(), "action_log": list(game.log), "proposal_reward": number(worth)}
