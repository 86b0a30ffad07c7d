import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.learner.advantages import RoleEMA, group_advantages

KINDS = ("grpo", "dr_grpo", "rloo")
REWARDS = st.lists(st.floats(-100, 100), min_size=2, max_size=16).map(np.array)


def rewards(*groups):
    return [np.array(group) for group in groups]


@given(REWARDS, st.sampled_from(KINDS))
def test_advantages_of_a_group_sum_to_0_and_keep_the_order(rewards, kind):
    advantages = group_advantages(rewards, kind)
    assert abs(advantages.sum()) < 1e-6
    assert (np.diff(advantages[np.argsort(rewards, kind="stable")]) >= -1e-9).all()


@given(REWARDS, st.sampled_from(KINDS), st.floats(-10, 10))
def test_what_all_games_of_a_group_win_alike_is_no_advantage(rewards, kind, more):
    expected = pytest.approx(group_advantages(rewards, kind), abs=1e-3 if kind == "grpo" else 1e-9)
    if kind != "grpo" or rewards.std() > 1e-3:  # where they differ by rounding, grpo makes much of it
        assert group_advantages(rewards + more, kind) == expected


@given(REWARDS)
def test_rloo_compares_with_the_others(rewards):
    others = [np.delete(rewards, number).mean() for number in range(len(rewards))]
    assert group_advantages(rewards, "rloo") == pytest.approx(rewards - others, abs=1e-9)


def test_known_advantages():
    rewards = np.array([0.0, 1.0, 1.0, 2.0])
    assert group_advantages(rewards, "dr_grpo").tolist() == [-1, 0, 0, 1]
    assert group_advantages(rewards, "rloo") == pytest.approx([-4 / 3, 0, 0, 4 / 3])
    assert group_advantages(rewards, "grpo") == pytest.approx(np.array([-1, 0, 0, 1]) / (np.sqrt(2 / 3) + 1e-6))


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rewards_are_no_advantage_at_all(kind):
    assert group_advantages(np.full(3, 85.49884497), kind).tolist() == [0.0] * 3


def test_a_seats_baseline_is_what_was_known_before_the_update():
    baseline = RoleEMA(0.75)
    assert [value.tolist() for value in baseline.advantages([0, 0, 1], rewards([0.2], [0.6], [1.0]))] == [
        [pytest.approx(-0.2)], [pytest.approx(0.2)], [0.0]
    ]  # fmt: skip
    assert baseline.state() == {"0": pytest.approx(0.4), "1": 1.0}
    assert baseline.advantages([0], rewards([0.8]))[0] == pytest.approx([0.4])
    assert baseline.state() == {"0": pytest.approx(0.75 * 0.4 + 0.25 * 0.8), "1": 1.0}


def test_a_seats_baseline_comes_back_from_a_checkpoint():
    baseline, again = RoleEMA(0.9), RoleEMA(0.9)
    baseline.advantages([0, 1], rewards([0.2], [0.6]))
    again.restore(json.loads(json.dumps(baseline.state())))
    later = [0, 1], rewards([0.5, 0.5], [0.9])
    for ours, theirs in zip(baseline.advantages(*later), again.advantages(*later), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert baseline.state() == again.state()


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_one_never_gets_its_reward(kind):
    assert group_advantages(np.array([0.7]), kind).tolist() == [0.0]
