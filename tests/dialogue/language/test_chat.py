import pytest
from tokenizers import AddedToken

from selfplay.dialogue.language.chat import Chat
from selfplay.dialogue.language.conversation import Reply, Writer, demonstration
from selfplay.errors import ConfigError
from tests.dialogue.language.models import tokenizer

CHATML = (
    "{% for m in messages %}{{ '<|user|>' if m.role != 'assistant' else '<|assistant|>' }}{{ m.content }}"
    "{{ '<|end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
PLAIN = CHATML.replace("{{ '<|user|>' if m.role != 'assistant' else '<|assistant|>' }}", "{{ '<|' + m.role + '|>' }}")
# Earlier replies lose what stands before the last </think>, as those of Qwen3 do.
DROPS = PLAIN.replace(
    "{{ m.content }}", "{{ m.content if loop.last or m.role != 'assistant' else m.content.split('</think>')[-1] }}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + PLAIN
SILENT = "{% for m in messages if m.role != 'system' %}" + PLAIN.split("%}", 1)[1]
PARTS = PLAIN.replace(
    "{{ m.content }}", "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
)
RULES, TALK = "Ann likes Bob.", ["Paper 4", "[message]Ann, and so", "Bob 7\n", "[accept]", "and", "so"]


def chat(template=PLAIN, rows="conversation", extra=(), **changes):
    made = tokenizer()
    if extra:
        made.backend_tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in extra])
    made.chat_template = template
    for name, value in changes.items():
        setattr(made, name, value)
    return Chat(made, frozenset({made.convert_tokens_to_ids("<|end|>")}), rows)


def rendered(of, system, talk):
    """What the template makes of the whole at once."""
    roles = [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(talk)]
    if system:
        roles.insert(0, {"role": "system", "content": system})
    text = of.tokenizer.apply_chat_template(roles, tokenize=False, add_generation_prompt=True)
    return of.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids


def pieced(of, system, talk):
    """The same as a conversation that grows."""
    ids = of.open(system, talk[0])
    for reply, observation in zip(talk[1::2], talk[2::2], strict=False):
        ids = [*ids, *of.ids_of([reply])[0], *of.go_on([observation])[0]]
    return ids


@pytest.mark.parametrize("template", [PLAIN, CHATML])
@pytest.mark.parametrize("system", ["", RULES])
@pytest.mark.parametrize("turns", [1, 3, 5])
def test_pieces_are_what_the_template_makes_of_the_whole(template, system, turns):
    of = chat(template)
    assert pieced(of, system, TALK[:turns]) == rendered(of, system, TALK[:turns])


def test_every_conversation_begins_with_the_one_before():
    of = chat()
    known = []
    for turns in (1, 3, 5):
        ids = pieced(of, RULES, TALK[:turns])
        assert ids[: len(known)] == known
        known = ids


@pytest.mark.parametrize(
    ("template", "changed"),
    [
        (DROPS, r"the first reply when later ones come, from '<think>A thought.*' to '\[message\] Good day"),
        (PLAIN + "{% if add_generation_prompt %}<thought>{% endif %}", "the first prompt .*<thought>' to"),
        (PLAIN.replace("{{ m.content }}", "{{ loop.length - loop.index }}{{ m.content }}"), "the first prompt"),
        (PLAIN.replace("{{ m.content }}", "{{ m.content[:9] }}"), "the first reply"),
    ],
)
def test_a_template_that_changes_earlier_messages_is_refused(template, changed):
    with pytest.raises(ConfigError, match=rf"changes {changed}.* --rows turn") as refused:
        chat(template)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("system", ["", RULES + "\n"])
def test_outer_white_space_is_as_the_template_gives_it(system):
    of, talk = chat(PLAIN.replace("m.content", "(m.content | trim)")), ["\nPaper 4 ", "[accept]", " \nBob 7\n"]
    assert pieced(of, system, talk) == rendered(of, system, talk)
    assert pieced(chat(), system, talk) == rendered(chat(), system, talk) != pieced(of, system, talk)


def test_such_a_template_shows_each_turn_anew():
    of = chat(DROPS, "turn", extra=("<think>", "</think>"))
    talk = [TALK[0], "<think>so</think>[accept]", TALK[2]]
    conversation = Writer(of).open(7, RULES, talk[0])
    first = list(conversation.ids)
    written = of.ids_of([talk[1]])[0]
    conversation.write(Reply(talk[1], written, [-1.0] * len(written), ended=True))
    Writer(of).go_on([conversation], [talk[2]])
    conversation.write(Reply("and", *([[of.end]] * 1), [-2.0], ended=True))
    one, other = conversation.instances(3, "g", 1, 0.5)
    assert one.ids.tolist() == [*first, *written]
    assert one.ids[one.sampled].tolist() == written
    assert other.ids[~other.sampled].tolist() == rendered(of, RULES, talk)
    assert of.tokenizer.decode(other.ids).count("think") == 0
    assert [(each.index, each.game_id, each.seat, each.reward) for each in (one, other)] == [(3, "g", 1, 0.5)] * 2


@pytest.mark.parametrize("template", [NO_SYSTEM, SILENT])
def test_without_a_role_for_the_system_its_text_stands_before_the_first_observation(template):
    of = chat(template)
    assert of.open(RULES, TALK[0]) == rendered(of, "", [f"{RULES}\n\n{TALK[0]}"])
    assert pieced(of, "", TALK[:3]) == rendered(of, "", TALK[:3])


def test_a_template_that_wants_parts_is_given_parts():
    of = chat(PARTS)
    assert pieced(of, RULES, TALK[:5]) == rendered(chat(), RULES, TALK[:5])


def test_the_embedded_template_reads_parts_and_texts_alike():
    of = tokenizer()
    text = of.apply_chat_template([{"role": "user", "content": "Ann"}], tokenize=False)
    assert (
        of.apply_chat_template([{"role": "user", "content": [{"type": "text", "text": "Ann"}]}], tokenize=False) == text
    )


def test_a_beginning_token_stands_once():
    of = chat("{{ '<bos>' }}" + PLAIN, extra=("<bos>",), bos_token="<bos>")
    ids = pieced(of, RULES, TALK[:3])
    assert ids.count(of.tokenizer.convert_tokens_to_ids("<bos>")) == 1
    assert ids == rendered(of, RULES, TALK[:3])


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("", "no chat template"),
        (PLAIN.replace("<|end|>", ""), "does not end a reply"),
        ("{{ messages[0].content }}", "every message once"),
        ("{{ raise_exception('never') }}", "never"),
        ("{% for m in messages %}{{ m.content + m.content }}<|end|>{% endfor %}", "every message once"),
    ],
)
@pytest.mark.parametrize("rows", ["conversation", "turn"])
def test_templates_that_are_no_form_for_a_conversation_are_refused(template, why, rows):
    with pytest.raises(ConfigError, match=why) as refused:
        chat(template, rows)
    assert "\n" not in str(refused.value)


def test_a_slow_tokenizer_is_refused():
    class Slow:
        name_or_path = "a/b"
        chat_template = PLAIN

    with pytest.raises(ConfigError, match=r"model a/b: its tokenizer has no fast form"):
        Chat(Slow(), frozenset({5}))


def test_words_of_the_game_that_the_tokenizer_lacks_are_refused():
    of = chat()
    with pytest.raises(ConfigError, match=r"lacks words of this game: .*Ann"):
        of.refuse_unknown(of.open("", "Ann dislikes"))
    with pytest.raises(ConfigError, match="lacks words"):
        demonstration(of, "", ["Ann"], ["Zoe"])


def test_words_of_a_partner_that_the_tokenizer_lacks_are_read_as_unknown():
    of = chat()
    assert of.tokenizer.unk_token_id in of.open("", "Ann dislikes")
    assert of.tokenizer.unk_token_id in of.go_on(["Ann dislikes"])[0]


def test_text_of_a_reply_is_all_but_its_end():
    of = chat()
    ids = of.ids_of(TALK)
    assert of.text_of(ids) == TALK
    assert of.text_of([each[:-1] for each in ids]) == TALK  # cut off
    assert of.text_of([[]]) == [""]


def test_a_lesson_marks_the_replies_that_are_taught():
    of = chat()
    row = demonstration(of, RULES, TALK[0:3:2], TALK[1:4:2])
    assert row.ids[row.sampled].tolist() == [*of.ids_of([TALK[1]])[0], *of.ids_of([TALK[3]])[0]]
    last = demonstration(of, RULES, TALK[0:3:2], TALK[1:4:2], targets=1)
    assert last.ids.tolist() == row.ids.tolist()
    assert last.ids[last.sampled].tolist() == of.ids_of([TALK[3]])[0]
