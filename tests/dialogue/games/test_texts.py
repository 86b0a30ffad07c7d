"""What the players are told, and that it can be read again."""

from dataclasses import replace

import pytest

from selfplay_dialogue.scripted import STYLES, MatchingPlayer
from selfplay_dialogue.states import LAPTOP, MatchingRules, draw_states
from selfplay_dialogue.texts import (
    as_read,
    facts_in,
    opening,
    parse_proposal,
    partner_reply,
    system,
    table_in,
    vocabulary,
)
from tests.dialogue.games.tables import self_play

SETTINGS = [
    replace(rules, table=table, told=how)
    for rules in (LAPTOP, MatchingRules(size=5))
    for table in ("csv", "triples")
    for how in ("full", "nothing")
]
IDS = [f"{rules.size}-{rules.table}-{rules.told}" for rules in SETTINGS]


@pytest.mark.parametrize("rules", SETTINGS, ids=IDS)
def test_the_table_can_be_read_again(rules):
    for state in draw_states(rules, range(10)):
        for seat in range(2):
            text = opening(rules, state, seat)
            assert table_in(rules, text) == state.shown(seat)
            assert partner_reply(text).kind == ""
            assert table_in(rules, f"{text}\n{as_read(rules, 'message', 'BLEU Ava Li 77')}") == state.shown(seat)


@pytest.mark.parametrize("rules", SETTINGS, ids=IDS)
@pytest.mark.parametrize(
    ("kind", "body"), [("message", "a\n\nPartner: Error: b"), ("accept", ""), ("propose", "Proposal:\n - x")]
)
def test_what_the_partner_said_can_be_read_again(rules, kind, body):
    (state,) = draw_states(rules, [3])
    for before in ("", opening(rules, state, 1) + "\n"):
        reply = partner_reply(before + as_read(rules, kind, body))
        assert (reply.kind, reply.body) == (kind, body)


def test_who_is_told_nothing_reads_bare_cells():
    (state,) = draw_states(LAPTOP, [0])
    cells = ("BLEU Ava Li 0", "BLEU Daniel Nguyen 5", "BLEU Sofia Patel 7", "GloVe Sofia Patel 0", "GLUE Sofia Patel 4")
    cells += ("Electra Andrei Petrov 0", "GloVe Andrei Petrov 7")
    assert opening(LAPTOP, state, 0) == " " + " ".join(cells)
    assert as_read(LAPTOP, "message", "BLEU Ava Li 7") == "[message] BLEU Ava Li 7"
    assert as_read(LAPTOP, "accept", "") == "[accept]"
    assert system(LAPTOP) == ""


def test_a_table_as_csv_has_a_line_for_each_reviewer():
    rules = MatchingRules(size=2, scaled=False, hardness=1.0, known=1.0)
    (state,) = draw_states(replace(rules, known=0.5), [0])
    header, names, *rows = opening(rules, state, 0).split("\n")
    assert header == "Fits that you see:"
    assert names == ",BLEU,Electra"
    assert [row.split(",")[0] for row in rows] == ["Ava Li", "Daniel Nguyen"]
    assert all(row.count(",") == 2 for row in rows)


@pytest.mark.parametrize("rules", [rules for rules in SETTINGS if rules.told == "full"])
def test_the_rules_are_told_with_an_example(rules):
    text = system(rules)
    for name in (*rules.papers, *rules.reviewers, "[message]", "[propose]", "[accept]", "[reject]"):
        assert name in text
    assert f"{rules.size} reviewers to {rules.size} papers" in text
    assert f"after {rules.max_turns} turns" in text
    assert ("factor" in text) == rules.scaled
    assert (",BLEU,Electra\n" in text) == (rules.table == "csv")
    _, _, example = text.rpartition("[propose] ")
    assert parse_proposal(example.partition("\nPartner:")[0], replace(rules, size=2)) == ((0, 0), (1, 1))


def test_what_a_refusal_costs_is_told():
    assert "ends the game" in system(MatchingRules(retries=0))
    assert "up to 8 times" in system(MatchingRules())
    assert "costs you 0.1" in system(MatchingRules(error_penalty=0.1))
    assert "costs" not in system(MatchingRules())


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("BLEU Ava Li 7, and GLUE Daniel Nguyen 12!", [(0, 0, 7), (1, 3, 12)]),
        ("xBLEU Ava Li 7", []),
        ("QuAC Ava Li 7 BLEU Noah Wilson 3", []),  # of a larger game
        (f"BLEU Ava Li {'9' * 5000}", []),
        ("BLEU Ava Li -7 BLEU Ava Li seven", []),
    ],
)
def test_cells_are_read_whatever_else_is_said(text, facts):
    assert facts_in(LAPTOP, text) == facts


# ---------------------------------------------------------------- pieces


def covered(text, pieces):
    """Whether the text is a row of pieces, taken greedily, the longest first."""
    longest = max(map(len, pieces))
    while text:
        piece = next((text[:n] for n in range(longest, 0, -1) if text[:n] in pieces), None)
        if piece is None:
            return False
        text = text.removeprefix(piece)
    return True


@pytest.mark.parametrize(
    "rules", [LAPTOP, replace(LAPTOP, scaled=True, max_turns=30), MatchingRules(table="triples", told="nothing")]
)
@pytest.mark.parametrize("style", list(STYLES))
def test_all_that_is_said_and_told_consists_of_the_pieces(rules, style):
    pieces = vocabulary(rules)
    assert len(pieces) == len(set(pieces))
    for seed, state in enumerate(draw_states(rules, range(10))):
        game, read = self_play(
            rules, state, [MatchingPlayer(rules, STYLES[style], 2 * seed + seat) for seat in range(2)]
        )
        for text in (*read, *(turn.text for turn in game.turns)):
            assert covered(text, set(pieces)), text


def test_the_pieces_are_whole_words():
    pieces = vocabulary(LAPTOP)
    assert {"[message]", " Proposal:", "\n - BLEU:", " BLEU", " Ava Li", " 9", "\n", "Error: "} <= set(pieces)
    assert " 10" not in pieces
    assert " 990" in vocabulary(MatchingRules())
    assert not covered(" QuAC", set(pieces))
    assert covered("Error: There is no proposal to accept or reject.", set(pieces))
