import json
import math

import pytest

from selfplay.dialogue.language.conversation import Reply
from selfplay.dialogue.language.tiny import TinySpec, make_tiny
from selfplay.dialogue.language.wire import ChatCompletions, Completions, InvalidResponse, SGLang, decode
from selfplay.learner.sampling import Sampling
from tests.dialogue.language.stub_server import CHAT, SGLANG, TEXT, VLLM, chatted, completion, generated

SAMPLING = Sampling(max_new_tokens=4)


@pytest.fixture(scope="module")
def chat():
    spec = TinySpec(width=8, layers=1, heads=1, inner=8, context=32)
    return make_tiny(spec, ["yes", "no", " "], seed=0).chat


class Kind:
    """What stub_server's functions ask for."""

    def __init__(self, kind):
        self.kind = kind


FORMS = {
    SGLANG: (SGLang(), generated),
    VLLM: (Completions("m", ids=True), completion),
    TEXT: (Completions("m", ids=False), completion),
    CHAT: (ChatCompletions("m"), chatted),
}


def answer(chat, kind, text="yes no", ended=True):
    ids = chat.ids_of([text])[0][: None if ended else -1]
    return FORMS[kind][1](Kind(kind), text, ids, [-0.5 - i for i in range(len(ids))], ended)


def read(chat, kind, document, sampling=SAMPLING):
    return FORMS[kind][0].read(decode(json.dumps(document).encode()), sampling, chat)


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("kind", FORMS)
def test_what_is_right_is_read(chat, kind, ended):
    reply = read(chat, kind, answer(chat, kind, ended=ended))
    ids = chat.ids_of(["yes no"])[0][: None if ended else -1]
    told = kind in (SGLANG, VLLM)
    assert (reply.text, reply.ids, reply.ended, reply.room, reply.lost) == ("yes no", ids, ended, True, None)
    assert reply.logprob == [-0.5 - i for i in range(len(ids))] if told else all(map(math.isnan, reply.logprob))


@pytest.mark.parametrize("kind", [SGLANG, VLLM])
def test_where_log_probabilities_are_not_told_they_are_not_known(chat, kind):
    document = answer(chat, kind)
    if kind == SGLANG:
        del document["meta_info"]["output_token_logprobs"]
    else:
        document["choices"][0]["logprobs"] = None
    reply = read(chat, kind, document)
    assert reply.ids == chat.ids_of(["yes no"])[0]
    assert all(map(math.isnan, reply.logprob))


def test_sglang_may_leave_the_end_out_of_its_ids_but_not_of_the_log_probabilities(chat):
    document = answer(chat, SGLANG)
    document["output_ids"].pop()
    assert read(chat, SGLANG, document).ids == chat.ids_of(["yes no"])[0]


@pytest.mark.parametrize("kind", [TEXT, CHAT])
def test_text_of_more_tokens_here_than_there_is_cut_off(chat, kind):
    document = answer(chat, kind, "yes no yes no")
    assert read(chat, kind, document, Sampling(max_new_tokens=8)).ended
    reply = read(chat, kind, document)
    assert (reply.ids, reply.ended) == (chat.ids_of(["yes no yes no"])[0][:4], False)


def told(document):
    """SGLang's pairs of log-probability and id, on which alone it depends now."""
    document.pop("output_ids", None)
    return document["meta_info"]["output_token_logprobs"]


def meta(document):
    return document["meta_info"]


def choice(document):
    return document["choices"][0]


def set_at(entries, place, value):
    entries[place] = value


WRONG = [
    (SGLANG, "no meta_info", lambda d: d.pop("meta_info")),
    (SGLANG, "no finish_reason", lambda d: meta(d).pop("finish_reason")),
    (SGLANG, "ended by 'abort'", lambda d: meta(d).update(finish_reason={"type": "abort"})),
    (SGLANG, "finish_reason is no dict", lambda d: meta(d).update(finish_reason="stop")),
    (SGLANG, "not pairs", lambda d: set_at(told(d), 0, -0.5)),
    (SGLANG, "not pairs", lambda d: set_at(told(d), 0, [-0.5])),
    (SGLANG, "4 output_ids are not those", lambda d: set_at(d["output_ids"], 0, 0)),
    (SGLANG, "not those of 0 log-prob", lambda d: meta(d)["output_token_logprobs"].clear()),
    (SGLANG, "no output_ids", lambda d: (d.pop("output_ids"), meta(d).pop("output_token_logprobs"))),
    (SGLANG, "not in the vocabulary", lambda d: set_at(told(d)[0], 1, "7")),
    (SGLANG, "not in the vocabulary", lambda d: set_at(told(d)[0], 1, True)),
    (SGLANG, "not in the vocabulary", lambda d: set_at(told(d)[0], 1, 7.0)),
    (SGLANG, "not in the vocabulary", lambda d: set_at(told(d)[0], 1, 9)),
    (SGLANG, "not in the vocabulary", lambda d: set_at(told(d)[0], 1, -1)),
    (SGLANG, "0 tokens", lambda d: told(d).clear()),
    (SGLANG, "5 tokens", lambda d: told(d).insert(0, told(d)[0])),
    (SGLANG, "in the middle", lambda d: set_at(told(d), 0, told(d)[-1])),
    (SGLANG, "without an end-of-turn token", lambda d: told(d).pop()),
    (SGLANG, "that are none", lambda d: set_at(told(d)[0], 0, 0.5)),
    (SGLANG, "that are none", lambda d: set_at(told(d)[0], 0, -(10**400))),
    (SGLANG, "that are none", lambda d: set_at(told(d)[0], 0, -1e300)),
    (SGLANG, "that are none", lambda d: set_at(told(d)[0], 0, None)),
    (SGLANG, "that are none", lambda d: set_at(told(d)[0], 0, "-0.5")),
    (VLLM, "no choices", lambda d: d.pop("choices")),
    (VLLM, "choices is no list", lambda d: d.update(choices="yes")),
    (VLLM, "not one choice", lambda d: d["choices"].clear()),
    (VLLM, "not one choice", lambda d: d["choices"].append(d["choices"][0])),
    (VLLM, "not one choice", lambda d: set_at(d["choices"], 0, "yes")),
    (VLLM, "no token_ids", lambda d: choice(d).pop("token_ids")),
    (VLLM, "4 tokens with 3 log-prob", lambda d: choice(d)["logprobs"]["token_logprobs"].pop()),
    (VLLM, "ended by 'content_filter'", lambda d: choice(d).update(finish_reason="content_filter")),
    (TEXT, "text is no str", lambda d: choice(d).update(text=["yes"])),
    (TEXT, "tokens that are no text", lambda d: choice(d).update(text="yes<|end|>")),
    (TEXT, "tokens that are no text", lambda d: choice(d).update(text="<|user|>yes")),
    (TEXT, "has no token for", lambda d: choice(d).update(text="perhaps")),
    (TEXT, "not Unicode", lambda d: choice(d).update(text="yes\ud800")),
    (TEXT, "4001 bytes of text", lambda d: choice(d).update(text="y" + "es, " * 1000)),
    (CHAT, "no message", lambda d: choice(d).pop("message")),
    (CHAT, "no content", lambda d: choice(d)["message"].update(content=None)),
    (CHAT, "not Unicode", lambda d: choice(d)["message"].update(content="\udfff")),
    (CHAT, "no finish_reason", lambda d: choice(d).update(finish_reason=None)),
    (CHAT, "ended by 'tool_calls'", lambda d: choice(d).update(finish_reason="tool_calls")),
]


@pytest.mark.parametrize(("kind", "words", "ruin"), WRONG)
def test_what_is_wrong_is_refused(chat, kind, words, ruin):
    document = answer(chat, kind)
    ruin(document)
    with pytest.raises(InvalidResponse, match=words):
        read(chat, kind, document)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"<html>", "not JSON"),
        (b"[1]", "no object"),
        (b"\xff", "not JSON"),
        (b'{"a": NaN}', "NaN is no JSON"),
        (b'{"a": -Infinity}', "-Infinity is no JSON"),
        (b"[" * 10**5, "not JSON"),
    ],
)
def test_what_is_no_json_object_is_refused(data, words):
    with pytest.raises(InvalidResponse, match=words) as caught:
        decode(data)
    assert "\n" not in str(caught.value)


def test_numbers_too_large_for_json_are_refused(chat):
    text = json.dumps(answer(chat, SGLANG)).replace("[-0.5,", "[-1e999,")
    with pytest.raises(InvalidResponse, match="no number that JSON can mean"):
        SGLang().read(decode(text.encode()), SAMPLING, chat)


def test_a_reply_of_ids_alone_knows_nothing_of_the_servers_text(chat):
    document = answer(chat, VLLM)
    choice(document)["text"] = "something else"
    assert isinstance(read(chat, VLLM, document), Reply)
    assert read(chat, VLLM, document).text == "yes no"
