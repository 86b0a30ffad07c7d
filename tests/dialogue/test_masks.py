"""Which tokens train: those that the seat wrote, all of them, and no other; on games by hand and at random."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfplay.dialogue.commands.inspect import described
from selfplay.dialogue.instances import columns_of
from selfplay.dialogue.packing import row_of
from selfplay.learner.token_batch import padded
from selfplay_dialogue.registry import MATCHING
from selfplay_dialogue.states import LAPTOP, assignment
from selfplay_dialogue.texts import proposal_text
from tests.dialogue.chats import byte_chat, tiny_chat
from tests.dialogue.writers import Said, in_turn, played


def check(line, chat):
    """All that must hold of a game's tokens, from either seat."""
    for instance in line.instances():
        columns = columns_of(instance)
        length = len(instance.ids)
        assert columns.attention_mask.tolist() == [1] * length
        assert columns.position_ids.tolist() == list(range(length))
        replies = [turn.text for turn in line.turns if turn.seat == instance.seat]
        spans = spans_of(columns.loss_mask)
        cut_off = len(spans) > len(replies)
        assert len(spans) == len(replies) + cut_off
        for place, (start, stop) in enumerate(spans):
            ids = columns.input_ids[start:stop].tolist()
            ended = not cut_off or place < len(spans) - 1
            assert (ids[-1] == chat.end) == ended
            assert chat.text_of([ids]) == [replies[place] if ended else line.outcome.unfinished]
        assert columns.reward_mask.tolist() == [int(place == spans[-1][1] - 1) for place in range(length)]
        assert (columns.old_log_probs != 0).tolist() == columns.loss_mask.astype(bool).tolist()
        assert whole(chat, columns) == rendered(line, instance.seat, chat, cut_off)


def spans_of(mask):
    """(start, stop) of what is marked without a gap."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask, [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def whole(chat, columns):
    return chat.tokenizer.decode(columns.input_ids.tolist(), skip_special_tokens=False)


def rendered(line, seat, chat, cut_off):
    """What the tokenizer's own template makes of the seat's messages."""
    messages = line.messages(seat)
    if messages[-1]["role"] == "user":
        return chat.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    text = chat.tokenizer.apply_chat_template(messages, tokenize=False).removesuffix("\n")  # after the end of a turn
    return text.removesuffix(chat.tokenizer.eos_token) if cut_off else text


def best_of(seed):
    """The reply that proposes the best assignment of a state."""
    table = MATCHING.states(LAPTOP, [seed])[0].table
    reviewers, papers = assignment(table)
    return proposal_text(list(zip(reviewers.tolist(), papers.tolist(), strict=True)), LAPTOP)


CHATS = pytest.mark.parametrize("chat_of", [tiny_chat, byte_chat])
A, B, C = "[message] BLEU Ava Li 3", "[message] GLUE", " BLEU"


@CHATS
def test_an_agreement_from_both_seats(chat_of, record_property):
    chat = chat_of()
    line = played(in_turn(Said(A), Said(B), Said(best_of(5)), Said("[accept]")), chat)
    check(line, chat)
    assert line.outcome.rewards == (1.0, 1.0)
    end = chat.tokenizer.eos_token
    assert [masked(chat, instance) for instance in line.instances()] == [
        f"{A}{end}{best_of(5)}{end}", f"{B}{end}[accept]{end}"
    ]  # fmt: skip
    if chat_of is tiny_chat:
        record_property("dialogue_game", "\n".join(described(line, chat.tokenizer)))


def masked(chat, instance):
    return chat.tokenizer.decode(instance.ids[instance.sampled].tolist(), skip_special_tokens=False)


def test_every_token_of_a_small_game_by_hand():
    chat = tiny_chat("kuhn_text")
    line = played(in_turn(Said("[pass]"), Said("[bet]"), Said("[pass]")), chat, game="kuhn_text", seed=0)
    check(line, chat)
    first, second = (columns_of(instance) for instance in line.instances())
    cards = line.game_state["cards"]
    assert [chat.tokenizer.decode([token]) for token in first.input_ids.tolist()] == [
        "<|user|>", f" {cards[0]}", "<|assistant|>", "[pass]", "<|end|>",
        "<|user|>", "[bet]", "<|assistant|>", "[pass]", "<|end|>",
    ]  # fmt: skip
    assert first.loss_mask.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1]
    assert first.reward_mask.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert [chat.tokenizer.decode([token]) for token in second.input_ids.tolist()] == [
        "<|user|>", f" {cards[1]}", "\n", "[pass]", "<|assistant|>", "[bet]", "<|end|>"
    ]  # fmt: skip
    assert second.loss_mask.tolist() == [0, 0, 0, 0, 0, 1, 1]


@CHATS
def test_refused_replies_train_and_what_their_mover_is_told_does_not(chat_of):
    chat, end = chat_of(), chat_of().tokenizer.eos_token
    replies = (C, "[accept]", B, " GLUE", " GLUE", C)
    line = played(in_turn(*map(Said, replies)), chat, retries=2)
    check(line, chat)
    assert line.outcome.reason == "refused"
    assert [turn.error is None for turn in line.turns] == [False, False, True, False, False, False]
    first, second = line.instances()
    assert masked(chat, first) == f"{C}{end}[accept]{end}{B}{end}"
    assert masked(chat, second) == f" GLUE{end} GLUE{end}{C}{end}"
    assert [chat.tokenizer.decode(i.ids[~i.sampled].tolist()).count("Error: ") for i in (first, second)] == [2, 2]


@CHATS
@pytest.mark.parametrize("mover", [0, 1])
def test_a_reply_that_is_cut_off_has_no_end_and_the_reward_on_its_last_token(chat_of, mover):
    chat = chat_of()
    line = played(in_turn(*[Said(B)] * mover, Said(A, ended=False)), chat)
    check(line, chat)
    assert line.outcome.reason == "cut_off"
    assert line.outcome.unfinished == A
    assert [instance.seat for instance in line.instances()] == list(range(mover + 1))
    cut = columns_of(line.instances()[mover])
    assert cut.loss_mask[-1] == cut.reward_mask[-1] == 1
    assert cut.input_ids[-1] != chat.end


def test_a_conversation_without_room_ends_in_what_was_read():
    chat = tiny_chat()
    line = played(in_turn(Said(B), Said(B), Said("", room=False)), chat)
    check(line, chat)
    assert line.outcome.reason == "context"
    first = columns_of(line.instances()[0])
    assert first.loss_mask[-1] == 0
    assert first.reward_mask.argmax() == np.flatnonzero(first.loss_mask)[-1]


def test_a_seat_that_wrote_nothing_has_no_row():
    assert played(in_turn(Said("", room=False)), tiny_chat()).instances() == []


FAULTS = st.one_of(
    st.none(),
    st.builds(Said, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    st.builds(Said, st.sampled_from(["[accept]", "[message]", "[propose] Proposal:", "a thought [message] x"])),
    st.sampled_from([Said("[message] and so", ended=False), Said("", room=False)]),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), faults=st.lists(FAULTS, max_size=12), retries=st.integers(0, 3), full=st.booleans())
def test_random_games(seed, faults, retries, full):
    rest, players, chat = iter(faults), {}, byte_chat()

    def choose(observation, conversation):
        if conversation not in players:
            players[conversation] = MATCHING.players["random"](LAPTOP, conversation)
        reply = players[conversation].reply(observation)
        return next(rest, None) or Said(reply)

    line = played(choose, chat, seed=seed, retries=retries, told="full" if full else "nothing")
    check(line, chat)
    for instance in line.instances():
        row = row_of(instance)
        short = row_of(line.instances()[0])
        batch = padded([row, short], [1.0, 1.0], torch.device("cpu"))
        assert np.array_equal(batch.where[0, : len(row.ids)].numpy(), instance.sampled[: len(row.ids)])
        assert batch.targets.taken[: row.tokens].tolist() == instance.ids[instance.sampled].tolist()
