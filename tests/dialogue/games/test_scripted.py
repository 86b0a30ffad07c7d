"""Scripted players of the matching."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from selfplay.dialogue.contract import AGREED, LONG
from selfplay_dialogue.matching import start
from selfplay_dialogue.scripted import STYLES, MatchingPlayer
from selfplay_dialogue.states import LAPTOP, MatchingRules, draw_states
from tests.dialogue.games.tables import with_itself

SETTINGS = [
    replace(rules, table=table, told=told, retries=0)
    for rules in (LAPTOP, MatchingRules(size=6), MatchingRules(size=2, max_turns=2), replace(LAPTOP, unseen=0))
    for table in ("csv", "triples")
    for told in ("full", "nothing")
]


def rewards(rules, style, count):
    states = draw_states(rules, range(count))
    return [with_itself(rules, state, style, seed).outcome.rewards[0] for seed, state in enumerate(states)]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("rules", SETTINGS, ids=[f"{r.size}-{r.table}-{r.told}" for r in SETTINGS])
def test_they_keep_the_rules_whatever_those_are(rules, style):
    for seed, state in enumerate(draw_states(rules, range(6))):
        game = with_itself(rules, state, style, seed)
        assert game.outcome.reason == AGREED
        assert not [turn.error for turn in game.turns if turn.error]


def test_they_are_ordered_by_strength():
    means = [float(np.mean(rewards(LAPTOP, style, 300))) for style in STYLES]
    assert means == sorted(means)
    assert means[0] == pytest.approx(0.67, abs=0.03)
    assert means[2] == pytest.approx(0.91, abs=0.02)
    assert means[-1] > 0.97


@pytest.mark.full
def test_they_are_ordered_with_hidden_factors_too():
    means = {style: float(np.mean(rewards(MatchingRules(), style, 40))) for style in STYLES}
    assert means["random"] < means["greedy"] < means["teacher"] < means["pooling_best"]
    assert means["pooling_best"] > 0.94


def test_a_game_follows_from_its_seeds():
    state = draw_states(LAPTOP, [0])[0]
    texts = [[turn.text for turn in with_itself(LAPTOP, state, "teacher", seed).turns] for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_the_teacher_plays_as_it_did():
    state = draw_states(LAPTOP, [1])[0]
    assert [turn.text for turn in with_itself(LAPTOP, state, "teacher", 1).turns] == [
        "[message] Electra Andrei Petrov 1 BLEU Andrei Petrov 1",
        "[message] Electra Ava Li 0",
        "[message] GloVe Ava Li 2 Electra Daniel Nguyen 4",
        "[message] GLUE Andrei Petrov 3 GloVe Daniel Nguyen 9",
        "[propose] Proposal:\n - BLEU: Ava Li\n - Electra: Sofia Patel\n - GloVe: Daniel Nguyen"
        "\n - GLUE: Andrei Petrov",
        "[accept]",
    ]


def test_what_one_tells_the_other_uses():
    """The partner's cells decide, also where its factor is another one."""
    rules = MatchingRules(size=2, known=0.5, retries=0, max_turns=6)
    heard = MatchingPlayer(rules, STYLES["pooling"], 0)
    heard.reply("Fits that you see:\n,BLEU,Electra\nAva Li,90,\nDaniel Nguyen,100,")
    said = "Partner: [message] BLEU Ava Li 450; Electra Ava Li 5; Electra Daniel Nguyen 500"  # five times as much
    replies = [heard.reply(said), *(heard.reply("Partner: [message] go on") for _ in range(3))]
    (proposal,) = {reply for reply in replies if reply.startswith("[propose]")}
    assert proposal == "[propose] Proposal:\n - BLEU: Ava Li\n - Electra: Daniel Nguyen"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("rules", [MatchingRules(size=3), replace(LAPTOP, retries=3)])
def test_after_a_refusal_they_do_something_else(rules, style):
    (state,) = draw_states(rules, [0])
    player = MatchingPlayer(rules, STYLES[style], 0)
    first = player.reply(start(rules, state).observe(0))
    replies = [first, *(player.reply("Error: There is a reason.") for _ in range(4))]
    assert all(one.split("]")[0] != other.split("]")[0] for one, other in pairwise(replies))
    assert {reply.split("]")[0] for reply in replies[1:]} == {"[propose", "[reject"}


@pytest.mark.parametrize("style", STYLES)
def test_a_partner_that_says_anything_does_not_break_them(style):
    rules = replace(MatchingRules(size=4), max_turns=12)
    words = [
        "[message] BLEU Noah Wilson 3",
        "[message] ,,,\nError: x",
        "[reject]",
        "[accept]",
        "[propose] Proposal:",
        "x",
    ]
    for seed, state in enumerate(draw_states(rules, range(10))):
        rng, game = np.random.default_rng(seed), start(rules, state)
        player = MatchingPlayer(rules, STYLES[style], seed)
        while game.outcome is None:
            told = game.observe(game.mover)
            game.act(player.reply(told) if game.mover == 1 else str(rng.choice(words)))
        assert game.outcome.reason in (AGREED, LONG, "refused")
        assert not [turn.error for turn in game.turns if turn.seat == 1 and turn.error]
