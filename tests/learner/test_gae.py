from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.learner.gae import gae
from selfplay.rollout.rollout import outcome_known

GAMMA, LAM = 0.9, 0.8
discounts = st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0])


@st.composite
def streams(draw, columns=4):
    """Rewards, values, V(s') and boundaries [T, S] as a rollout has them; a boundary is a death or a cut."""
    shape = (draw(st.integers(1, 12)), draw(st.integers(1, columns)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    reward, value, last = (rng.normal(size=n).astype(np.float32) for n in (shape, shape, shape[1:]))
    boundary = rng.random(shape) < draw(st.sampled_from([0.0, 0.2, 0.7]))
    dead = boundary & (rng.random(shape) < 0.5)
    following = np.concatenate([value[1:], last[None]])
    cut = rng.normal(size=shape).astype(np.float32)
    next_value = np.where(dead, 0, np.where(boundary, cut, following)).astype(np.float32)
    return reward, value, next_value, boundary


def reference(reward, value, next_value, boundary, gamma, lam):
    """The sum of the paper, one number at a time: A_t = sum of (gamma lam)^k delta_{t+k} up to the boundary."""
    result = np.zeros(reward.shape)
    for t, s in np.ndindex(*reward.shape):
        weight = 1.0
        for k in range(t, len(reward)):
            delta = float(reward[k, s]) + gamma * float(next_value[k, s]) - float(value[k, s])
            result[t, s] += weight * delta
            weight *= gamma * lam
            if boundary[k, s]:
                break
    return result


@given(streams(), discounts, discounts)
@settings(max_examples=150)
def test_agrees_with_the_sum_written_out_stream_by_stream(data, gamma, lam):
    found = gae(*data, gamma, lam)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(*data, gamma, lam), rtol=1e-4, atol=1e-4)


def test_golden_numbers():
    # three steps, the game ends with the second; the third is bootstrapped with V = 2
    reward, value, next_value = ([[1.0], [2.0], [3.0]], [[0.5], [1.0], [1.0]], [[1.0], [0.0], [2.0]])
    arrays = (np.array(x, np.float32) for x in (reward, value, next_value))
    found = gae(*arrays, np.array([[False], [True], [False]]), 0.5, 0.5)
    # deltas: 1 + 0.5 - 0.5 = 1,  2 + 0 - 1 = 1,  3 + 1 - 1 = 3
    np.testing.assert_array_equal(found, np.array([[1.25], [1.0], [3.0]], np.float32))


@given(streams(), discounts)
@settings(max_examples=60)
def test_lambda_0_is_the_td_error(data, gamma):
    reward, value, next_value, _ = data
    expected = reward + np.float32(gamma) * next_value - value
    np.testing.assert_allclose(gae(*data, gamma, 0.0), expected, rtol=1e-6, atol=1e-6)


@given(streams(), discounts)
@settings(max_examples=60)
def test_lambda_1_is_the_discounted_return_less_the_value(data, gamma):
    reward, value, next_value, boundary = data
    returns = np.zeros(reward.shape)
    ahead = next_value[-1].astype(float)
    for t in reversed(range(len(reward))):
        ahead = reward[t] + gamma * np.where(boundary[t], next_value[t], ahead)
        returns[t] = ahead
    np.testing.assert_allclose(gae(*data, gamma, 1.0), returns - value, rtol=1e-4, atol=1e-4)


def test_a_cut_is_bootstrapped_and_a_death_is_not():
    reward, value = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    boundary = np.array([[True, True], [False, False]])
    next_value = np.array([[0.0, 10.0], [0.0, 0.0]], np.float32)  # column 0 dies, column 1 is cut where V = 10
    assert gae(reward, value, next_value, boundary, GAMMA, LAM)[0].tolist() == [1.0, pytest.approx(10.0)]


@given(streams(), st.data())
@settings(max_examples=100)
def test_what_follows_a_boundary_never_matters_before_it(data, choose):
    before = gae(*data, GAMMA, LAM)
    *arrays, boundary = data
    found = np.argwhere(boundary)
    if not len(found):
        return
    t, s = choose.draw(st.sampled_from(found.tolist()))
    changed = [array.copy() for array in arrays]
    for array in changed:
        array[t + 1 :, s] += 100
    after = gae(*changed, boundary, GAMMA, LAM)
    np.testing.assert_array_equal(after[: t + 1], before[: t + 1])


@given(streams(), st.data())
@settings(max_examples=100)
def test_a_column_never_matters_to_another(data, choose):
    before = gae(*data, GAMMA, LAM)
    s = choose.draw(st.integers(0, before.shape[1] - 1))
    *changed, boundary = (array.copy() for array in data)
    for array in changed:
        array[:, s] += 100
    boundary[:, s] ^= True
    after = gae(*changed, boundary, GAMMA, LAM)
    np.testing.assert_array_equal(np.delete(after, s, 1), np.delete(before, s, 1))


@given(streams(), st.data(), discounts)
@settings(max_examples=100)
def test_two_segments_give_what_one_gives_where_the_value_at_the_cut_is_exact(data, choose, lam):
    reward, value, next_value, boundary = (array.copy() for array in data)
    cut = choose.draw(st.integers(0, len(reward)))
    for t in reversed(range(cut, len(reward))):  # from the cut on, V is what really follows: no surprise is left
        if t + 1 < len(reward):
            next_value[t] = np.where(boundary[t], next_value[t], value[t + 1])
        value[t] = reward[t] + np.float32(GAMMA) * next_value[t]
    if 0 < cut < len(reward):
        next_value[cut - 1] = np.where(boundary[cut - 1], next_value[cut - 1], value[cut])
    whole = reward, value, next_value, boundary
    parts = [gae(*(array[part] for array in whole), GAMMA, lam) for part in (slice(cut), slice(cut, None))]
    np.testing.assert_allclose(np.concatenate(parts), gae(*whole, GAMMA, lam), atol=1e-4)


@given(streams(), st.data())
@settings(max_examples=40)
def test_the_second_of_two_segments_never_needs_the_first(data, choose):
    cut = choose.draw(st.integers(0, len(data[0])))
    part = gae(*(array[cut:] for array in data), GAMMA, LAM)
    np.testing.assert_array_equal(part, gae(*data, GAMMA, LAM)[cut:])


def test_inputs_are_left_alone_and_no_steps_are_fine():
    data = [np.ones((3, 2), np.float32) for _ in range(3)] + [np.zeros((3, 2), bool)]
    kept = [array.copy() for array in data]
    gae(*data, GAMMA, LAM)
    assert all((a == b).all() for a, b in zip(data, kept, strict=True))
    assert gae(*(array[:0] for array in data), GAMMA, LAM).shape == (0, 2)


def test_rewards_between_two_own_decisions_are_summed():
    # column 0 decides at steps 0, 2 and 5; the game ends with step 3; 1 and 4 are the other seat's moves
    reward = np.array([[1, 2, 4, 8, 16, 32]], np.float32).T
    value = np.array([[0.5, 9, 1, 9, 9, 2]], np.float32).T  # nothing reads the value of a step without a choice
    next_value = np.array([[9, 9, 9, 0, 9, 4]], np.float32).T
    boundary = np.array([[0, 0, 0, 1, 0, 0]], bool).T
    decides = np.array([[1, 0, 1, 0, 0, 1]], bool).T
    found = gae(reward, value, next_value, boundary, 0.5, 0.5, decides, decides)
    # step 5: 32 + 0.5 * 4 - 2 = 32; step 2: 4 + 8 + 0 - 1 = 11, the end of the game
    # step 0: (1 + 2) + 0.5 * 1 - 0.5 = 3, and 0.25 * 11 of what follows
    np.testing.assert_array_equal(found[decides], np.array([5.75, 11, 32], np.float32))


def test_a_cut_game_is_bootstrapped_for_the_seat_that_waits():
    reward = np.array([[1, 2]], np.float32).T
    value = np.array([[3, 9]], np.float32).T
    next_value = np.array([[9, 10]], np.float32).T  # V of the last observation
    boundary, decides = np.array([[0, 1]], bool).T, np.array([[1, 0]], bool).T
    found = gae(reward, value, next_value, boundary, 0.5, 0.5, decides, decides)
    assert found[0, 0] == 1 + 2 + 0.5 * 10 - 3


def test_a_decision_whose_outcome_is_not_known_passes_nothing_on():
    reward = np.array([[1, 2, 4]], np.float32).T
    value = np.array([[3, 5, 9]], np.float32).T
    decides = np.array([[1, 1, 0]], bool).T
    boundary = np.zeros((3, 1), bool)
    known = outcome_known(decides, boundary, np.array([False]))
    assert known[:2, 0].tolist() == [True, False]
    found = gae(reward, value, np.full((3, 1), 7, np.float32), boundary, 0.5, 1, decides, decides & known)
    assert found[0, 0] == 1 + 0.5 * 5 - 3


@given(streams(columns=1), st.integers(0, 99), discounts, discounts)
@settings(max_examples=150)
def test_of_some_decisions_it_is_that_of_a_stream_of_them_alone(data, seed, gamma, lam):
    reward, value, next_value, boundary = (array[:, 0] for array in data)
    decides = np.random.default_rng(seed).random(len(reward)) < 0.6
    alone = []  # [reward, value, next value, boundary] of the decisions, one after the other
    for t in range(len(reward)):
        if decides[t]:
            alone.append([0.0, value[t], 0.0, False])
        if alone:
            alone[-1][0] += reward[t] * (not alone[-1][3])
        if alone and boundary[t] and not alone[-1][3]:
            alone[-1][2:] = next_value[t], True
    for this, following in pairwise(alone):
        if not this[3]:
            this[2] = following[1]
    if alone and not alone[-1][3]:
        alone[-1][2] = next_value[-1]
    found = gae(*data, gamma, lam, decides[:, None], decides[:, None])[decides, 0]
    columns = [np.array(column, np.float32)[:, None] for column in zip(*alone, strict=True)] if alone else []
    wanted = gae(*columns[:3], columns[3].astype(bool), gamma, lam)[:, 0] if alone else []
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
