import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from scripts.studies.bench.dialogue import GenerateWriter
from selfplay.dialogue.language.conversation import Conversation
from selfplay.dialogue.language.decoding import KVStore, shared, shared_prefixes
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.learner.sampling import Sampling
from tests.dialogue.language.models import converse, recomputed, sampled, texts, tiny

SAMPLING = Sampling(max_new_tokens=12)


@pytest.mark.parametrize("shared_heads", [1, 2, 4])
@pytest.mark.parametrize("sampling", [SAMPLING, Sampling(0.7, 1.0, 12), Sampling(1.3, 0.8, 12), Sampling(0.0, 1.0, 12)])
def test_log_probabilities_are_those_of_one_forward_over_everything(shared_heads, sampling):
    model = tiny(shared=shared_heads)
    made, replies = converse(LocalWriter(model, sampling))
    assert {reply.ended for of_one in replies for reply in of_one} == {True, False} or sampling.greedy
    for conversation in made:
        told = sampled(conversation.logprob, conversation.sampled)
        assert told == pytest.approx(recomputed(model, conversation, sampling), abs=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 5},
        {"rows": 1},
        {"keep_share": 1.0},
        {"keep_share": 0.0},
        {"store_bytes": 0},
        {"store_bytes": 64 * 128 * 1024},  # 64 slots of the first width, and no more
        {"store_bytes": 64 * 128 * 256},
    ],
)
def test_what_is_written_does_not_depend_on_how_the_work_is_cut(options):
    model = tiny()
    whole, _ = converse(LocalWriter(model, SAMPLING), count=20, turns=4)
    cut, _ = converse(LocalWriter(model, SAMPLING, **options), count=20, turns=4)
    for one, other in zip(whole, cut, strict=True):
        assert one.ids == other.ids
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


def test_what_is_written_does_not_depend_on_who_else_is_answered():
    model = tiny()
    together, _ = converse(LocalWriter(model, SAMPLING))
    alone = LocalWriter(model, SAMPLING)
    for conversation in together:
        again = alone.open(conversation.seed, conversation.said[0], conversation.said[1])
        for observation in (None, *conversation.said[3::2]):
            if observation is not None:
                alone.go_on([again], [observation])
            alone.reply([again])
        assert again.ids == conversation.ids
        alone.close([again])


def test_seeds_make_conversations_differ_and_repeat():
    writer = LocalWriter(tiny(), SAMPLING)
    seeds = [*range(20), *range(20)]
    made = [writer.open(seed, "", "Ann") for seed in seeds]
    writer.reply(made)
    written = [tuple(conversation.ids) for conversation in made]
    assert written[:20] == written[20:]
    assert len(set(written)) > 10


def test_tokens_are_drawn_as_often_as_they_are_likely():
    model = tiny()
    sampling = Sampling(1.0, 0.9, 1)
    writer = LocalWriter(model, sampling, rows=4000)
    made = [writer.open(seed, "", "Ann likes") for seed in range(4000)]
    firsts = np.array([reply.ids[0] for reply in writer.reply(made)])
    prompt = Conversation(0, [*made[0].ids[:-1], 0], [*made[0].sampled])
    wanted = np.array([_likely(model, prompt, token, sampling) for token in range(model.vocabulary)])
    assert wanted.sum() == pytest.approx(1.0, abs=1e-5)
    found = np.bincount(firsts, minlength=model.vocabulary) / len(firsts)
    assert (found[wanted == 0] == 0).all()
    assert np.abs(found - wanted).max() < 4 * np.sqrt(0.25 / len(firsts))


def _likely(model, prompt, token, sampling):
    prompt.ids[-1] = token
    return float(np.exp(recomputed(model, prompt, sampling))[0])


def test_greedy_replies_are_those_of_transformers():
    model = tiny(seed=3)
    module = LlamaForCausalLM(model.module.config)
    module.load_state_dict(model.module.state_dict())
    module.set_attn_implementation("sdpa")
    greedy = Sampling(0.0, 1.0, 12)
    ours, replies = converse(LocalWriter(model, greedy), count=64)
    theirs, _ = converse(GenerateWriter(model, module.eval(), 24, greedy), count=64)
    assert [conversation.ids for conversation in ours] == [conversation.ids for conversation in theirs]
    assert len({reply.text for of_one in replies for reply in of_one}) > 16


def test_a_conversation_without_room_is_told_and_left_as_it_is():
    model = tiny(context=40)
    writer = LocalWriter(model, SAMPLING)
    short, long = writer.open(1, "", "Ann"), writer.open(2, "", "Ann " * 20)
    before = list(long.ids)
    fits, none = writer.reply([short, long])
    assert fits.room
    assert not none.room
    assert long.ids == before
    assert not any(long.sampled)
    edge = writer.open(3, "", "Ann" * (40 - 12 - 2))
    assert len(edge.ids) == 40 - 12
    assert writer.reply([edge])[0].room
    assert len(edge.ids) <= 40


def test_replies_end_with_their_last_token_and_read_as_they_are_written():
    model = tiny()
    _, replies = converse(LocalWriter(model, SAMPLING))
    for reply in (reply for of_one in replies for reply in of_one):
        assert reply.ended == (reply.ids[-1] in model.chat.ends)
        assert not set(reply.ids[:-1]) & model.chat.ends
        assert len(reply.ids) <= 12
        assert reply.ended or len(reply.ids) == 12
        assert "<|end|>" not in reply.text


def test_the_store_forgets_what_is_closed_and_never_outgrows_its_limit():
    model = tiny()
    each = sum(part.heads * part.width * 4 for part in model.parts)
    store = KVStore(model, limit=64 * 128 * each)
    made = [Conversation(seed) for seed in range(65)]
    slots = [store.slot(conversation) for conversation in made]
    assert sorted(slots[:64]) == list(range(64))
    assert slots[64] is None
    store.drop(made[:1])
    assert store.slot(made[64]) == slots[0]
    rows = store.take([slots[1]], 150)
    store.keep([slots[1]], [part + 1 for part in rows], [140])
    assert store.known(slots[1]) == 128  # there is no room for more columns
    assert float(store.take([slots[1]], 150)[0][:, :128].min()) == 1.0


def test_rows_that_begin_alike_are_found():
    table, other = list(range(20)), list(range(50, 80))
    rows = [[*table, 1, 2], other, [*table, 3], [*table, 1, 2], [], [9, 9]]
    ((members, length),) = shared_prefixes(rows)
    assert sorted(members) == [0, 2, 3]
    assert length == 20
    assert shared_prefixes([table, table]) == [([0, 1], 19)]  # the last token is left to be read
    assert shared_prefixes([]) == []
    assert (shared([1, 2, 3], [1, 2, 4, 5]), shared([1, 2], [1, 2]), shared([], [1])) == (2, 1, 0)


def test_openings_are_read_once(monkeypatch):
    model = tiny()
    writer = LocalWriter(model, Sampling(max_new_tokens=1))
    read = []
    answer = type(model).next_logits
    monkeypatch.setattr(type(model), "next_logits", lambda *given: read.append(given[2].numel()) or answer(*given))
    opening = texts(1, 0, 30)[0] * 3
    made = [writer.open(seed, "", opening) for seed in range(8)]
    writer.reply(made)
    assert sum(read) == len(made[0].ids) - 2 + 8 * 1  # the opening without its last token, once; then that token


def test_weights_can_learn_after_the_writer_used_them():
    model = tiny()
    writer = LocalWriter(model, SAMPLING)
    made, _ = converse(writer)
    ids, where = torch.tensor([made[0].ids]), torch.tensor([made[0].sampled])
    model.logits(ids, where).sum().backward()
    assert all(parameter.grad is not None for parameter in model.module.parameters())
