import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfplay.learner.token_batch import TrainingRow, micro_batches, padded, shuffled, token_weights

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
    assert batch.targets.taken.tolist() == [3, 5, 7]
    assert batch.targets.logprob.tolist() == [-1, -2, -3]
    assert batch.targets.advantage.tolist() == [0.5, -2, -2]
    assert batch.targets.weight.tolist() == [0.25, 0.75, 0.75]
    assert batch.targets.reference is None
    assert batch.targets.importance is None


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


def alike(count, seed):
    """Rows that begin alike in threes."""
    return [
        row([*range(number // 3, number // 3 + 9), *each.ids], [*[0] * 9, *each.sampled], number)
        for number, each in enumerate(rows(count, seed))
    ]


@given(st.integers(1, 20), st.integers(0, 99), st.sampled_from([rows, alike]))
def test_packed_rows_are_the_rows(count, seed, made):
    batch = made(count, seed)
    packed = padded(batch, [1.0] * count, CPU).packed
    assert len(packed.ids) <= sum(len(row.ids) - 1 for row in batch)
    seen = []
    for part in packed.rows:
        at = torch.arange(part.keys.shape[1])[None] if part.at is None else part.at
        for keys, queries, places in zip(part.keys, part.queries, at.expand_as(part.queries), strict=True):
            own = [(int(token), int(place)) for token, place in zip(queries, places, strict=True)]
            assert all(int(keys[place]) == token for token, place in own if token)
            seen.append(packed.ids[keys].tolist())
    for one in batch:
        inputs = one.ids[:-1].tolist()
        assert any(found[: len(inputs)] == inputs for found in seen)
    every = torch.cat([part.queries.flatten() for part in packed.rows])
    assert every[packed.place].tolist() == list(range(len(packed.ids)))
    before = [token for one in batch for token in one.ids[np.flatnonzero(one.sampled) - 1]]
    assert packed.ids[packed.before].tolist() == before
    assert packed.at[packed.before].tolist() == [at - 1 for one in batch for at in np.flatnonzero(one.sampled)]


def test_rows_that_begin_alike_are_computed_once():
    packed = padded([row([1, 2, 3, 4, 5], [0, 0, 0, 0, 1], 0), row([1, 2, 3, 6], [0, 0, 0, 1], 0)], [1, 1], CPU).packed
    assert packed.ids.tolist() == [1, 2, 3, 4]
    assert packed.before.tolist() == [3, 2]


def test_rows_that_are_almost_equal_are_in_few_micro_batches():
    beginning = list(range(1, 20))
    batch = [row([*beginning, 20 + number], [0] * 19 + [1], 0) for number in range(64)]
    assert [len(part) for part in micro_batches(batch, 2048, parts=4)] == [2, 21, 21, 20]


@given(st.integers(1, 40), st.integers(1, 90), st.integers(1, 5), st.integers(0, 7), st.sampled_from([rows, alike]))
def test_micro_batches_have_every_row_once_and_few_tokens(count, tokens, parts, most_rows, made):
    batch = made(count, seed=1)
    found = micro_batches(batch, tokens, parts, most_rows)
    assert sorted(number for part in found for number in part) == list(range(count))
    assert all(len(part) <= most_rows or not most_rows for part in found)
    for part in found:
        packed = padded([batch[number] for number in part], [1.0] * len(part), CPU).packed
        assert len(part) == 1 or len(packed.ids) <= tokens
