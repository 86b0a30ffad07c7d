"""What a reply says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.replies import ParsedReply, is_refusal, parse_reply
from selfplay_dialogue.texts import KINDS

TEXT = st.text(max_size=60)


def has_tag(text):
    return re.search(rf"\[({'|'.join(KINDS)})\]", text, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("text", "private", "kind", "body"),
    [
        ("[message] hello", "", "message", "hello"),
        ("I think so. [accept]", "I think so.", "accept", ""),
        ("[MESSAGE] a [Propose] b", "[MESSAGE] a", "propose", "b"),  # the last one counts, case does not
        ("[reject] no [sic] sorry", "", "reject", "no [sic] sorry"),  # other words in brackets are text
        ("[ message ] hello", "[ message ] hello", "", ""),
        ("[accept]ed", "", "accept", "ed"),
        ("hello", "hello", "", ""),
        ("", "", "", ""),
    ],
)
def test_the_last_tag_counts(text, private, kind, body):
    assert parse_reply(text, KINDS) == ParsedReply(private, kind, body)


@given(TEXT, st.sampled_from(KINDS), TEXT.filter(lambda text: not has_tag(text)), st.data())
def test_whatever_stands_before_the_last_tag_is_private(private, kind, body, data):
    tag = "".join(data.draw(st.sampled_from((letter, letter.upper()))) for letter in kind)
    reply = parse_reply(f"{private}[{tag}]{body}", KINDS)
    assert reply == ParsedReply(private.strip(), kind, body.strip())


@given(TEXT)
def test_a_text_without_a_tag_says_nothing(text):
    reply = parse_reply(text, KINDS)
    assert (reply.kind == "") == (not has_tag(text))
    assert not has_tag(reply.body)


def test_a_refusal_is_told_as_one():
    assert is_refusal("Error: No.")
    assert not is_refusal("[message] Error: no")
