"""A model whose chat template drops thoughts, played and taught a turn at a time."""

import numpy as np
import pytest
import torch

from selfplay.dialogue.grpo import GRPOLearner
from selfplay.dialogue.instances import grouped
from selfplay.dialogue.language.model import LanguageModel
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.learner.sampling import Sampling
from tests.dialogue.language.models import tiny
from tests.dialogue.language.test_chat import DROPS

SAMPLING = Sampling(max_new_tokens=10)


@pytest.fixture
def model():
    """Whose replies are forgotten from their first comma on, in every later turn."""
    plain = tiny()
    words = plain.chat.tokenizer
    words.chat_template = DROPS.replace("split('</think>')[-1]", "split(',')[0]")
    return LanguageModel(plain.module, words, rows="turn")


def talk(model, count=8, turns=3):
    writer = LocalWriter(model, SAMPLING)
    made = [writer.open(seed, "Ann likes Paper.", f"Paper {'47'[seed % 2]}") for seed in range(count)]
    replies = [writer.reply(made)]
    for _ in range(turns - 1):
        writer.go_on(made, ["and so"] * count)
        replies.append(writer.reply(made))
    return made, replies


def test_each_turn_is_a_row_that_shows_the_conversation_as_the_template_does_then(model):
    made, replies = talk(model, count=32)
    assert any("," in reply.text for of_turn in replies[:2] for reply in of_turn)
    for number, conversation in enumerate(made):
        rows = conversation.instances(0, "g", 0, 1.0)
        assert len(rows) == 3
        for turn, row in enumerate(rows):
            assert row.ids[row.sampled].tolist() == replies[turn][number].ids
            assert row.ids[~row.sampled].tolist() == model.chat.whole(conversation.said[: 2 + 2 * turn])


def test_log_probabilities_are_those_of_each_row_by_itself(model):
    made, _ = talk(model)
    learner = GRPOLearner(model, GRPOSettings(), SAMPLING)
    try:
        rows = [row for conversation in made for row in conversation.instances(0, "g", 0, 1.0)]
        for row, score in zip(rows, learner.logprobs(rows), strict=True):
            assert score == pytest.approx(row.logprob, abs=1e-4)
    finally:
        learner.close()


def test_luck_differs_from_turn_to_turn(model):
    """Also where a later prompt is as long as an earlier one."""
    made, _ = talk(model, count=1, turns=1)
    writer = LocalWriter(model, SAMPLING)
    other = writer.open(made[0].seed, "Ann likes Paper.", "Paper 4")
    first = writer.reply([other])[0].ids
    other.start_row([int(i) for i, mark in zip(other.ids, other.sampled, strict=True) if not mark])
    writer.close([other])
    assert writer.reply([other])[0].ids != first


def test_games_are_compared_and_not_their_turns(model):
    made, _ = talk(model, count=4)
    made[0].before.clear()  # a game of one turn, against three games of three
    rewards = [1.0, 0.0, 0.0, 0.0]
    rows = [row for i, c in enumerate(made) for row in c.instances(5, f"5-{i}", 0, rewards[i])]
    (group,) = grouped(rows)
    assert group.rewards.tolist() == rewards
    assert group.rows == [1, 3, 3, 3]
    learner = GRPOLearner(model, GRPOSettings(row_tokens=10), SAMPLING)
    try:
        before = torch.cat([parameter.detach().flatten().clone() for parameter in model.module.parameters()])
        told = learner.update([group], torch.Generator().manual_seed(0))
    finally:
        learner.close()
    assert (told.groups, told.singletons, told.zero_variance, told.rows) == (1, 0, 0, 10)
    assert told.drift < 1e-4
    after = torch.cat([parameter.detach().flatten() for parameter in model.module.parameters()])
    assert not torch.equal(before, after)


def test_one_game_of_many_turns_is_a_group_of_one(model):
    from selfplay.dialogue.packing import with_advantages

    made, _ = talk(model, count=1)
    weighed = with_advantages(grouped(made[0].instances(0, "0-0", 0, 0.7)), "dr_grpo")
    assert (weighed.singletons, weighed.instances) == (1, ())
    both = talk(model, count=2)[0]
    rows = [row for i, c in enumerate(both) for row in c.instances(0, f"0-{i}", 0, float(i))]
    assert np.allclose([a for _, a in with_advantages(grouped(rows), "dr_grpo").instances], [-0.5] * 3 + [0.5] * 3)
