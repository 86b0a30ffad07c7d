"""Assignments as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay_dialogue.states import MatchingRules
from selfplay_dialogue.texts import parse_proposal, proposal_text

RULES = MatchingRules(size=3)
FINE = "Proposal:\n - BLEU: Sofia Patel\n - Electra: Ava Li\n - GloVe: Daniel Nguyen"


@given(st.integers(2, 8).flatmap(lambda size: st.tuples(st.permutations(range(size)), st.permutations(range(size)))))
def test_names_are_found_in_the_whole_lists_in_whatever_order_they_come(sides):
    reviewers, papers = sides
    rules = MatchingRules(size=len(reviewers))
    pairs = tuple(zip(reviewers, papers, strict=True))
    lines = [f" - {rules.papers[paper]}: {rules.reviewers[reviewer]}" for reviewer, paper in pairs]
    assert parse_proposal("\n".join(["Proposal:", *lines]), rules) == pairs
    body = proposal_text(pairs, rules).removeprefix("[propose] ")
    assert parse_proposal(body, rules) == tuple(sorted(pairs, key=lambda pair: pair[1]))


def test_the_form_of_dialop_is_read():
    assert parse_proposal(FINE.replace("\n", "<br/>&emsp;"), RULES) == parse_proposal(FINE, RULES)
    assert parse_proposal(FINE.replace("\n -", "\n\n-").replace(": ", "  :  "), RULES) == ((2, 0), (0, 1), (1, 2))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("Proposal:", "Offer:", "begins with the line 'Proposal:'"),
        (FINE, "", "begins with the line 'Proposal:'"),
        ("\n - GloVe: Daniel Nguyen", "", "yours has 2"),
        ("Nguyen", "Nguyen\n - GLUE: Ava Li", "yours has 4"),
        (" - BLEU", "BLEU", "'BLEU: Sofia Patel' is no line"),
        ("BLEU: ", "BLEU ", "is no line"),
        ("BLEU", "Bleu", "no paper 'Bleu'"),  # names match exactly
        ("Sofia Patel", "Sofia", "no reviewer 'Sofia'"),
        ("BLEU", "GLUE", "no paper 'GLUE'"),  # of the larger game
        ("Sofia Patel", "Andrei Petrov", "no reviewer 'Andrei Petrov'"),
        ("BLEU", "GloVe", "Every paper must be named once"),
        ("Sofia Patel", "Ava Li", "Every reviewer must be named once"),
    ],
)
def test_what_is_wrong_is_told(before, after, told):
    assert before in FINE
    assert told in parse_proposal(FINE.replace(before, after), RULES)


@given(st.text(alphabet=" \n-:PropsalBLEUAviElct<br/>", max_size=80))
def test_any_text_is_pairs_or_a_sentence(text):
    found = parse_proposal(text, RULES)
    assert isinstance(found, str)
    assert len(found) < 200


def test_a_long_line_is_not_told_back_whole():
    assert len(parse_proposal(FINE.replace("BLEU", "x" * 9999), RULES)) < 200
