from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import LearnerError
from selfplay.learner.token_batch import by_length, padded, row_of, shuffled, token_weights
from tests.learner.token_models import instance, random_games

CPU = torch.device("cpu")
AGGREGATIONS = ("constant", "seq-mean", "token-mean")


def rows(count=7, seed=0):
    return [row_of(game, advantage) for advantage, game in enumerate(random_games(count, 1, seed)[:count])]


def test_a_row_ends_with_its_last_own_token():
    row = row_of(replace(instance([5, 6, 7, 8, 9, 9], [2, 3]), logprob=np.arange(6, dtype=np.float32)), 0.5)
    assert row.ids.tolist() == [5, 6, 7, 8]
    assert row.sampled.tolist() == [False, False, True, True]
    assert row.logprob.tolist() == [2, 3]
    assert (row.advantage, row.tokens) == (0.5, 2)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (instance([1, 2], []), "game a, seat 0: no token was sampled"),
        (instance([1, 2], [0]), "its first token was sampled"),
        (replace(instance([1, 2], [1]), logprob=np.zeros(3, np.float32)), "2 ids, 2 marks, 3 log-probabilities"),
        (replace(instance([1, 2], [1]), logprob=np.array([0, np.nan], np.float32)), "is not finite"),
        (replace(instance([1, 2], [1]), logprob=np.array([0, -np.inf], np.float32)), "is not finite"),
    ],
)
def test_what_cannot_be_trained_is_named(game, message):
    with pytest.raises(LearnerError, match=message):
        row_of(game)


def test_rows_are_padded_on_the_right_and_vectors_follow_the_marks():
    short = replace(row_of(instance([1, 2, 3], [2]), 0.5), logprob=np.array([-1], np.float32))
    long = replace(row_of(instance([4, 5, 6, 7], [1, 3]), -2.0), logprob=np.array([-2, -3], np.float32))
    batch = padded([short, long], [0.25, 0.75], CPU)
    assert batch.ids.tolist() == [[1, 2, 3, 0], [4, 5, 6, 7]]
    assert batch.where.tolist() == [[False, False, True, False], [False, True, False, True]]
    assert batch.taken.tolist() == [3, 5, 7]
    assert batch.logprob.tolist() == [-1, -2, -3]
    assert batch.advantage.tolist() == [0.5, -2, -2]
    assert batch.weight.tolist() == [0.25, 0.75, 0.75]
    assert batch.reference is None
    assert batch.importance is None


@given(st.integers(1, 20), st.sampled_from(AGGREGATIONS), st.integers(1, 1000))
def test_what_tokens_weigh(count, aggregation, row_tokens):
    batch = rows(count)
    weights = token_weights(batch, aggregation, row_tokens)
    of_rows = [weight * row.tokens for weight, row in zip(weights, batch, strict=True)]
    if aggregation == "constant":
        assert weights == [1 / (count * row_tokens)] * count
    elif aggregation == "seq-mean":
        assert of_rows == pytest.approx([1 / count] * count)
    else:
        assert len(set(weights)) == 1
        assert sum(of_rows) == pytest.approx(1)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 99))
def test_batches_have_every_row_once_and_are_even(count, size, seed):
    batch = rows(count)
    parts = list(shuffled(batch, size, torch.Generator().manual_seed(seed)))
    assert sorted(row.advantage for part in parts for row in part) == list(range(count))
    lengths = [len(part) for part in parts]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    again = list(shuffled(batch, size, torch.Generator().manual_seed(seed)))
    assert [[row.advantage for row in part] for part in again] == [[row.advantage for row in part] for part in parts]


@given(st.integers(1, 40), st.integers(1, 12))
def test_rows_of_a_part_are_about_as_long(count, size):
    batch = rows(count)
    parts = by_length(batch, size)
    assert sorted(number for part in parts for number in part) == list(range(count))
    assert all(len(part) == size for part in parts[:-1])
    lengths = [len(batch[number].ids) for part in parts for number in part]
    assert lengths == sorted(lengths, reverse=True)
