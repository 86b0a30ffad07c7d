"""Games of the matching, reply by reply."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.contract import AGREED, CUT_OFF, FAILED, LONG, REFUSED
from selfplay.games.errors import GameError
from selfplay_dialogue.matching import start
from selfplay_dialogue.states import LAPTOP, MatchingRules, MatchingState, assignment, draw_states
from selfplay_dialogue.texts import proposal_text
from tests.dialogue.games.dialop_logs import read_game

RULES = replace(LAPTOP, size=2, retries=2, error_penalty=0.25)
STATE = MatchingState(
    np.array([[8.0, 2.0], [9.0, 6.0]]), np.array([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], bool), (1.0, 1.0), 14.0
)
BEST = "[propose] Proposal:\n - BLEU: Ava Li\n - Electra: Daniel Nguyen"
WORSE = "[propose] Proposal:\n - BLEU: Daniel Nguyen\n - Electra: Ava Li"


def play(*replies, rules=RULES):
    game = start(rules, STATE)
    for reply in replies:
        game.act(reply)
    return game


def errors(game):
    return [turn.error for turn in game.turns if turn.error is not None]


@pytest.mark.parametrize(("rules", "count"), [(LAPTOP, 1000), (MatchingRules(), 40), (MatchingRules(size=3), 100)])
def test_the_best_proposal_as_text_scores_one(rules, count):
    for state in draw_states(rules, range(count)):
        rows, columns = assignment(state.table)
        game = start(rules, state)
        game.act(proposal_text(list(zip(rows.tolist(), columns.tolist(), strict=True)), rules))
        game.act("[accept]")
        assert game.outcome.rewards == (1.0, 1.0)
        assert game.outcome.reason == AGREED


def test_both_are_paid_the_share_of_the_best():
    game = play("[message] hello", WORSE, "[accept]")
    assert game.outcome.rewards == (11 / 14, 11 / 14)
    assert not errors(game)


def test_seats_take_turns_and_seat_0_begins():
    game = play("[message] a", "[message] b", "[message] c", BEST, "[reject]", "[message] d", "[message] e")
    assert [turn.seat for turn in game.turns] == [0, 1, 0, 1, 0, 1, 0]
    assert game.mover == 1
    assert game.outcome is None


def test_a_proposal_is_answered_before_anything_else():
    game = play(BEST, "[message] wait", WORSE)
    assert all("answer it with [accept] or [reject] first" in error for error in errors(game))
    assert len(errors(game)) == 2
    assert game.mover == 1


def test_a_rejected_proposal_is_gone():
    game = play(BEST, "[reject]", "[accept]")
    assert errors(game) == ["There is no proposal to accept or reject."]
    assert game.game.proposal is None
    game = play(BEST, "[reject]", WORSE, "[accept]")
    assert game.outcome.rewards == (11 / 14, 11 / 14)


@pytest.mark.parametrize("reply", ["[accept]", "[reject]", "hello", "", "[message]", "x [message]  ", "[propose] BLEU"])
def test_a_reply_against_the_rules_changes_nothing(reply):
    game = play(reply)
    (error,) = errors(game)
    assert error
    assert (game.mover, game.outcome, game.game.proposal) == (0, None, None)
    assert game.record()["action_log"] == []


def test_a_refusal_is_told_to_its_mover_alone():
    game = start(RULES, STATE)
    assert game.observe(0) == " BLEU Ava Li 8 BLEU Daniel Nguyen 9"
    game.act("hello")
    assert game.observe(0) == f"Error: {errors(game)[0]}"
    assert game.observe(0) == ""  # told once
    game.act("my secret [message] hi")
    assert game.observe(1) == " Electra Ava Li 2 Electra Daniel Nguyen 6\n[message] hi"
    game.act(BEST)
    assert game.observe(0) == BEST
    assert "secret" not in game.observe(1)
    assert [(turn.private, turn.kind) for turn in game.turns] == [
        ("hello", ""), ("my secret", "message"), ("", "propose"),
    ]  # fmt: skip
    assert game.turns[1].text == "my secret [message] hi"


def test_the_budget_of_a_turn_is_its_own():
    game = play("a", "b", "[message] hi", "c", "d")
    assert game.outcome is None
    game.act("e")
    assert game.outcome.reason == REFUSED
    assert game.outcome.rewards == (-0.5, -0.75)
    assert game.mover == 1


def test_without_retries_the_first_refusal_ends_the_game():
    game = play("a", rules=replace(RULES, retries=0, error_penalty=0.0))
    assert (game.outcome.reason, game.outcome.rewards) == (REFUSED, (0.0, 0.0))


def test_penalties_are_the_own_seats_with_agreement_too():
    game = play("a", BEST, "b", "c", "[accept]")
    assert game.outcome.rewards == (0.75, 0.5)


def test_without_agreement_by_the_last_turn_nothing_is_paid():
    rules = replace(RULES, max_turns=3)
    for last in (["[message] a", "[message] b", BEST], ["[message] a", BEST, "[reject]"]):
        game = play(*last, rules=rules)
        assert (game.outcome.reason, game.outcome.rewards) == (LONG, (0.0, 0.0))
    game = play("[message] a", "x", BEST, "[accept]", rules=rules)  # refused replies are no turns
    assert game.outcome.reason == AGREED


@pytest.mark.parametrize("reason", [CUT_OFF, FAILED])
def test_a_game_that_fails_pays_nothing(reason):
    game = play(BEST)
    game.fail(reason)
    assert (game.outcome.reason, game.outcome.rewards) == (reason, (0.0, 0.0))
    assert game.record()["proposal_reward"] == 0


PARTS = st.sampled_from(
    [BEST, WORSE, "[accept]", "[reject]", "[message] ", "[propose]", "\n", "<br/>", "Ava Li", "[", "é"]
)


@given(st.lists(st.one_of(st.text(max_size=20), st.lists(PARTS, max_size=3).map("".join)), max_size=40))
def test_whatever_is_written_is_a_turn(replies):
    game = start(RULES, STATE)
    for reply in replies:
        if game.outcome is not None:
            break
        mover = game.mover
        turn = game.act(reply)
        assert (turn.seat, turn.text) == (mover, reply)
        assert turn.private in reply
        assert game.outcome is not None or game.mover == (mover if turn.error else 1 - mover)
    counted = [turn for turn in game.turns if turn.error is None]
    assert len(counted) == len(game.record()["action_log"]) <= RULES.max_turns
    if game.outcome is not None:
        assert all(-0.25 * len(game.turns) <= reward <= 1 for reward in game.outcome.rewards)
        assert (game.outcome.reason == AGREED) == (counted[-1:] != [] and counted[-1].kind == "accept")
    if game.outcome is None or game.outcome.reason == AGREED:
        assert len(read_game(game.record()).turns) == len(counted)


def test_a_game_that_is_over_takes_nothing_more():
    game = play(BEST, "[accept]")
    with pytest.raises(GameError, match="the game is over"):
        game.act("[message] hello")
    with pytest.raises(GameError, match="the game is over"):
        game.fail(CUT_OFF)
    assert game.outcome.reason == AGREED


def test_a_state_of_another_size_is_refused():
    with pytest.raises(GameError, match="a state of size 2 for a game of size 4"):
        start(LAPTOP, STATE)


def test_the_record_has_the_fields_of_dialop():
    game = play("[message] hi", WORSE, "[reject]", "no tag", BEST, "[accept]")
    record = json.loads(json.dumps(game.record()))
    assert record["action_log"] == [
        {"type": "message", "player": 0, "message": {"data": "hi", "from_player": 0, "type": "utterance"}},
        {
            "type": "proposal",
            "player": 1,
            "proposal": WORSE.removeprefix("[propose] "),
            "proposal_ids": [[1, 0], [0, 1]],
        },
        {"type": "proposal_response", "player": 0, "response": {"accept": False, "from_player": 0}},
        {
            "type": "proposal",
            "player": 1,
            "proposal": BEST.removeprefix("[propose] "),
            "proposal_ids": [[0, 0], [1, 1]],
        },
        {"type": "proposal_response", "player": 0, "response": {"accept": True, "from_player": 0}},
    ]
    assert record["proposal_reward"] == record["best_assignment_reward"] == 14
    assert read_game(record).reward == 1.0
    assert play(BEST).record()["proposal_reward"] == 0  # nobody has agreed yet
