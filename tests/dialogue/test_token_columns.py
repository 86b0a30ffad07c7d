"""Columns over the tokens of a game."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.instances import Instance, columns_of


def instance(sampled):
    length = len(sampled)
    ids, logprob = np.arange(10, 10 + length, dtype=np.int32), np.full(length, -0.5, np.float32)
    return Instance(0, "g", 0, ids, np.array(sampled, np.bool_), logprob, 0.5)


def test_by_hand():
    columns = columns_of(instance([False, False, True, True, False, True, False]))
    assert columns.input_ids.tolist() == [10, 11, 12, 13, 14, 15, 16]
    assert columns.attention_mask.tolist() == [1] * 7
    assert columns.position_ids.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert columns.loss_mask.tolist() == [0, 0, 1, 1, 0, 1, 0]
    assert columns.reward_mask.tolist() == [0, 0, 0, 0, 0, 1, 0]
    assert columns.old_log_probs.tolist() == [0, 0, -0.5, -0.5, 0, -0.5, 0]


@given(st.lists(st.booleans(), max_size=40))
def test_one_reward_on_the_last_token_that_was_sampled(sampled):
    columns = columns_of(instance(sampled))
    assert columns.loss_mask.astype(bool).tolist() == sampled
    assert columns.reward_mask.sum() == any(sampled)
    if any(sampled):
        last = int(columns.reward_mask.argmax())
        assert columns.loss_mask[last] == 1
        assert not columns.loss_mask[last + 1 :].any()
    assert columns.position_ids.tolist() == [i for i, there in enumerate(columns.attention_mask) if there]


def test_differences_are_named():
    columns = columns_of(instance([False, True]))
    assert columns.differences(columns_of(instance([False, True]))) == []
    assert columns.differences(columns_of(instance([False, False]))) == ["loss_mask", "reward_mask", "old_log_probs"]
