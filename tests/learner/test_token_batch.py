import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfplay.learner.token_batch import TrainingRow, by_length, padded, shuffled, token_weights

CPU = torch.device("cpu")
AGGREGATIONS = ("constant", "seq-mean", "token-mean")


def row(ids, sampled, advantage, logprob=None):
    marks = np.array(sampled, np.bool_)
    logprob = np.zeros(marks.sum()) if logprob is None else logprob
    return TrainingRow(np.array(ids, np.int64), marks, np.array(logprob, np.float32), advantage)


def rows(count=7, seed=0):
    """Rows of random tokens, of different lengths; their advantages are their numbers."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        sampled = rng.random(int(rng.integers(6, 24))) < 0.5
        sampled[0], sampled[-1] = False, True
        made.append(row(rng.integers(0, 11, len(sampled)), sampled, number))
    return made


def test_rows_are_padded_on_the_right_and_vectors_follow_the_marks():
    short = row([1, 2, 3], [0, 0, 1], 0.5, [-1])
    long = row([4, 5, 6, 7], [0, 1, 0, 1], -2.0, [-2, -3])
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
