"""Kuhn poker as text, beside the rules that it is a view of."""

import json
import re
from itertools import product

import numpy as np
import pytest

from selfplay.dialogue.contract import CONTEXT, CUT_OFF, FAILED, REFUSED
from selfplay.games.errors import GameError
from selfplay.games.solved.exact import nash_conv, payoffs
from selfplay.games.solved.kuhn import CARDS, MOVES, Hand, Kuhn
from selfplay_dialogue.drills import kuhn_drills
from selfplay_dialogue.kuhn import (
    FOLD,
    KINDS,
    PLAYERS,
    SHOWDOWN,
    KuhnPlayer,
    KuhnRules,
    deal,
    hand_from_json,
    solved,
    start,
    vocabulary,
)
from tests.dialogue.games.tables import self_play

ONE = np.ones(1)
RULES = KuhnRules()
BARE = KuhnRules(told="nothing")
SOLVED = solved(RULES)
TREE = SOLVED.tree


def equilibrium(bluff):
    """Kuhn's solution in which seat 0 bets the jack with this probability, at most 1/3."""
    other = {"p": (1 / 3, 0.0, 1.0), "b": (0.0, 1 / 3, 1.0)}
    return {"": (bluff, 0.0, 3 * bluff), **other, "pb": (0.0, bluff + 1 / 3, 1.0)}


def card_of(decision):
    return next(card for card, name in enumerate(CARDS) if name in decision.texts[0])


def done_at(decision):
    return "".join(re.findall(r"\[(.)", "".join(decision.texts)))


def chances_of(bets):
    return [(1 - bet, bet) for each in SOLVED.information_sets for bet in [bets[done_at(each)][card_of(each)]]]


def as_strategy(bets):
    return SOLVED.strategy(chances_of(bets))


@pytest.mark.parametrize("hand", Kuhn().starts(), ids=lambda hand: "".join(CARDS[card][0] for card in hand.cards))
@pytest.mark.parametrize("replies", list(product(KINDS, repeat=3)), ids="-".join)
def test_every_game_is_that_of_the_rules(hand, replies):
    rules, state, game = Kuhn(), hand, start(RULES, hand)
    for reply in replies:
        assert game.mover == MOVES[state.done]
        action = rules.actions.index(reply)
        assert action in rules.legal(state, game.mover)
        state = rules.after(state, (action, 0) if game.mover == 0 else (0, action))
        game.act(f"[{reply}]")
        if rules.payoff(state) is not None:
            break
    assert game.outcome.rewards == (rules.payoff(state), -rules.payoff(state))
    assert game.outcome.reason == (FOLD if state.done in ("bp", "pbp") else SHOWDOWN)


def test_a_seat_reads_its_own_card_and_what_the_other_one_did():
    game = start(RULES, Hand((2, 0), ""))
    assert game.observe(0) == "Your card: king."
    game.act("A king! [PASS] ha")
    assert game.observe(1) == "Your card: jack.\nOpponent: [pass]"
    game.act("[bet]")
    assert game.observe(0) == "Opponent: [bet]"
    assert game.turns[0].private == "A king!"
    bare = start(BARE, Hand((2, 0), ""))
    bare.act("[bet]")
    assert bare.observe(1) == " jack\n[bet]"
    assert bare.system(0) == ""


def test_the_rules_are_told():
    text = start(RULES, Hand((0, 1), "")).system(0)
    assert all(word in text for word in (*CARDS, "[pass]", "[bet]", "the game ends, and you pay 2"))
    assert "up to 3 times" in start(KuhnRules(retries=3), Hand((0, 1), "")).system(0)


def test_a_reply_without_a_move_is_told_to_its_mover_alone():
    game = start(KuhnRules(retries=1), Hand((0, 1), ""))
    game.observe(0)
    assert game.act("I call").error == "Write [pass] or [bet]."
    assert game.observe(0) == "Error: Write [pass] or [bet]."
    assert game.mover == 0
    game.act("[bet]")
    assert game.observe(1) == "Your card: queen.\nOpponent: [bet]"
    game.act("[pass]")
    assert game.outcome.rewards == (1 - 2, -1)


def test_who_cannot_say_a_move_pays_more_than_who_folds():
    game = start(RULES, Hand((2, 0), ""))
    game.act("[bet]")
    game.act("hm")
    assert (game.outcome.reason, game.outcome.rewards) == (REFUSED, (0.0, -2.0))
    free = start(KuhnRules(error_penalty=0.0), Hand((2, 0), ""))
    free.act("hm")
    assert free.outcome.rewards == (0.0, 0.0)


def test_a_game_that_fails_pays_nothing_and_is_over():
    game = start(RULES, Hand((2, 0), ""))
    game.fail(FAILED)
    assert (game.outcome.reason, game.outcome.rewards) == (FAILED, (0.0, 0.0))
    for call in (lambda: game.act("[bet]"), lambda: game.fail(CUT_OFF)):
        with pytest.raises(GameError, match="the game is over"):
            call()


@pytest.mark.parametrize(("setting", "value"), [("retries", -1), ("error_penalty", -1.0), ("told", "half")])
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(GameError, match=f"^kuhn_text: {setting} is "):
        KuhnRules(**{setting: value})


def test_cards_follow_from_the_seed_alone():
    hands = deal(RULES, range(600))
    assert deal(RULES, [17, 5]) == [hands[17], hands[5]]
    counts = [hands.count(hand) for hand in Kuhn().starts()]
    assert sum(counts) == 600
    assert min(counts) > 70


def test_a_deal_comes_back_from_json():
    for hand in Kuhn().starts():
        game = start(RULES, hand)
        game.act("[bet]")
        record = json.loads(json.dumps(game.record()))
        assert hand_from_json(record) == hand
        assert record["action_log"] == [{"type": "bet", "player": 0}]
    for document in (
        None,
        {},
        {"cards": []},
        {"cards": ["king", "king"]},
        {"cards": ["ace", "king"]},
        {"cards": [0, 1]},
    ):
        with pytest.raises(GameError, match="cards must be two different ones of jack, queen, king"):
            hand_from_json(document)


def test_whoever_writes_on_for_ever_pays_as_for_a_refused_reply():
    for reason in (CUT_OFF, CONTEXT):
        game = start(RULES, Hand((2, 0), ""))
        game.act("[bet]")
        game.fail(reason)
        assert (game.outcome.reason, game.outcome.rewards) == (reason, (0.0, -2.0))


# ---------------------------------------------------------------- decisions


def test_every_decision_is_listed_once():
    listed = SOLVED.information_sets
    assert {(card_of(decision), done_at(decision)) for decision in listed} == set(product(range(3), MOVES))
    assert len(listed) == 12
    assert all(decision.seat == MOVES[done_at(decision)] for decision in listed)
    assert all(decision.replies == ("[pass]", "[bet]") for decision in listed)


@pytest.mark.parametrize("rules", [RULES, BARE])
def test_a_decision_has_the_texts_that_the_seat_reads(rules):
    texts = {(card_of(decision), done_at(decision)): decision.texts for decision in solved(rules).information_sets}
    for hand in Kuhn().starts():
        game = start(rules, hand)
        own = (game.observe(0), "[pass]")
        assert texts[hand.cards[0], ""] == own[:1]
        game.act("[pass]")
        assert texts[hand.cards[1], "p"] == (game.observe(1),)
        game.act("[bet]")
        assert texts[hand.cards[0], "pb"] == (*own, game.observe(0))
    assert len(set(texts.values())) == 12


def test_the_value_of_known_players_is_known():
    assert PLAYERS["equilibrium"] == equilibrium(1 / 3)
    known = {name: nash_conv(TREE, as_strategy(bets)[None], ONE) for name, bets in PLAYERS.items()}
    assert known["random"] == pytest.approx(11 / 12)
    assert known["equilibrium"] == pytest.approx(0, abs=1e-12)
    assert known["equilibrium"] < known["honest"] < known["random"]
    assert nash_conv(TREE, as_strategy(equilibrium(0.0))[None], ONE) == pytest.approx(0, abs=1e-12)
    assert payoffs(TREE, as_strategy(equilibrium(0.2))[None])[0, 0] == pytest.approx([-1 / 18, 1 / 18])


def test_a_strategy_has_the_probability_of_each_action():
    filled = as_strategy(PLAYERS["random"])
    np.testing.assert_allclose(filled, TREE.players["random"])


@pytest.mark.parametrize("chance", [(), (0.5,), (0.5, 0.6), (-0.5, 1.5), (float("nan"), 1.0), (0.2, 0.3, 0.5)])
def test_what_is_no_probability_is_refused(chance):
    chances = [*[(0.5, 0.5)] * 11, chance]
    with pytest.raises(GameError, match="has no probabilities of \\[pass\\], \\[bet\\]"):
        SOLVED.strategy(chances)


# ---------------------------------------------------------------- players


@pytest.mark.parametrize("rules", [RULES, BARE])
@pytest.mark.parametrize("name", PLAYERS)
def test_players_reply_as_often_as_their_numbers_say(name, rules):
    bets = PLAYERS[name]
    for decision in solved(rules).information_sets:
        count = 0
        for seed in range(200):
            player, own = KuhnPlayer(bets, seed), iter(decision.texts[1::2])
            for text in decision.texts[:-1:2]:
                player.reply(text)
                player._done = player._done[:-1] + next(own)[1]  # as if it had replied so
            count += player.reply(decision.texts[-1]) == "[bet]"
        assert count / 200 == pytest.approx(bets[done_at(decision)][card_of(decision)], abs=0.12)


@pytest.mark.parametrize("rules", [RULES, BARE])
def test_players_keep_the_rules_and_the_better_one_wins(rules):
    pieces = set(vocabulary(rules))
    hands, won = deal(rules, range(3000)), 0.0
    for seed, hand in enumerate(hands):
        players = [KuhnPlayer(PLAYERS["equilibrium"], 2 * seed), KuhnPlayer(PLAYERS["random"], 2 * seed + 1)]
        if seed % 2:
            players.reverse()
        game, read = self_play(rules, hand, players, start)
        assert not [turn.error for turn in game.turns if turn.error]
        won += game.outcome.rewards[seed % 2]
        if rules is BARE:
            assert all(made_of(text, pieces) for text in read)
    assert won / len(hands) > 0.1


def made_of(text, pieces):
    return not text or any(made_of(text.removeprefix(piece), pieces) for piece in pieces if text.startswith(piece))


def test_after_a_refusal_a_player_replies_again():
    player = KuhnPlayer(PLAYERS["honest"], 0)
    assert player.reply("Your card: king.") == "[bet]"
    assert player.reply("Error: Write [pass] or [bet].") == "[bet]"


def test_a_mixture_of_players_is_judged_by_the_order_of_the_decisions():
    uniform = [(0.5, 0.5)] * 12
    assert SOLVED.nash_conv([uniform], [1.0]) == pytest.approx(11 / 12)
    mixture = [chances_of(equilibrium(bluff)) for bluff in (0.0, 1 / 3)]
    assert SOLVED.nash_conv(mixture, [0.5, 0.5]) == pytest.approx(0)
    always = dict.fromkeys(MOVES, (1.0, 1.0, 1.0))
    never = dict.fromkeys(MOVES, (0.0, 0.0, 0.0))
    both = SOLVED.nash_conv([chances_of(always), chances_of(never)], [0.5, 0.5])
    assert both < np.mean([SOLVED.nash_conv([chances_of(bets)], [1.0]) for bets in (always, never)]) - 0.1


# ---------------------------------------------------------------- exercises


def test_an_exercise_asks_for_the_card_where_a_move_could_be_asked_for():
    situations = {(decision.texts, card_of(decision)) for decision in solved(BARE).information_sets}
    drills = kuhn_drills(BARE, range(200), True)
    for drill in drills:
        texts = tuple(text for pair in zip(drill.read, drill.wrote, strict=True) for text in pair)
        assert (texts[:-1], CARDS.index(texts[-1].strip())) in situations
    assert len({drill.read for drill in drills}) == len(situations)
    assert {drill.read for drill in kuhn_drills(BARE, range(50), False)} == {(" jack",), (" queen",), (" king",)}
    assert kuhn_drills(BARE, [7, 3], True) == [drills[7], drills[3]]
