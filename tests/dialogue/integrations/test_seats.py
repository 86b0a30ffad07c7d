"""Prompt, response and mask of a seat, on conversations of random pieces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.instances import Instance
from selfplay.dialogue.integrations.seats import seat_rows, seat_tokens


def instance(sampled, logprob=None):
    tokens = len(sampled)
    logprob = np.where(sampled, -1.5, 0) if logprob is None else logprob
    ids = np.arange(10, 10 + tokens, dtype=np.int32)
    return Instance(3, "g", 1, ids, np.array(sampled, bool), np.array(logprob, np.float32), 0.75)


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_response_reaches_from_the_first_sampled_token_to_the_last(sampled):
    row = seat_tokens(instance(sampled))
    if not any(sampled):
        assert row is None
        return
    whole = row.prompt + row.response
    assert whole == list(range(10, 10 + len(whole)))
    assert row.mask[0] == row.mask[-1] == 1
    assert [0] * len(row.prompt) + row.mask == [int(one) for one in sampled[: len(whole)]]
    assert not any(sampled[len(whole) :])
    assert row.logprobs == [-1.5 if one else 0.0 for one in row.mask]
    assert (row.seat, row.reward) == (1, 0.75)


def test_log_probabilities_that_are_not_known_are_none():
    assert seat_tokens(instance([False, True, True], [0, -1, np.nan])).logprobs is None


def test_seats_that_wrote_nothing_have_no_row():
    assert [row.prompt for row in seat_rows([instance([False, False]), instance([False, True])])] == [[10]]
