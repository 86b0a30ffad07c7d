import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.instances import grouped
from selfplay.errors import ConfigError, LearnerError
from selfplay.learner.advantages import RoleEMA, group_advantages, refuse_single_games, with_advantages
from tests.learner.token_models import instance, random_games

KINDS = ("grpo", "dr_grpo", "rloo")
REWARDS = st.lists(st.floats(-100, 100), min_size=2, max_size=16).map(np.array)


def group(*rewards, index=0, seat=0):
    games = [instance([1, 2], [1], reward, index, f"{number:03}", seat) for number, reward in enumerate(rewards)]
    return grouped(games)[0]


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


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_one_never_gets_its_reward(kind):
    assert group_advantages(np.array([0.7]), kind).tolist() == [0.0]
    weighed = with_advantages([group(0.7), group(0.2, 0.4, index=1)], kind)
    assert (weighed.groups, weighed.singletons, weighed.zero_variance) == (2, 1, 0)
    assert [game.index for game, _ in weighed.instances] == [1, 1]


def test_groups_of_one_reward_are_counted_and_left_out():
    weighed = with_advantages([group(0.3, 0.3, 0.3), group(0.1, 0.3, index=4)], "grpo")
    assert (weighed.groups, weighed.singletons, weighed.zero_variance) == (2, 0, 1)
    assert {game.index for game, _ in weighed.instances} == {4}


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_refused(reward):
    with pytest.raises(LearnerError, match="state 3, seat 1: a reward is not finite"):
        with_advantages([group(0.3, reward, index=3, seat=1)], "grpo")


def test_one_game_on_each_state_is_refused_without_a_baseline_across_states():
    with pytest.raises(ConfigError, match="one game's pair has one reward, and so advantage zero, always"):
        refuse_single_games(1, "group")
    refuse_single_games(2, "group")
    refuse_single_games(1, "role-ema")


def test_a_games_pair_is_two_groups_of_one():
    weighed = with_advantages(grouped(random_games(states=5, games=1)), "grpo")
    assert (weighed.groups, weighed.singletons, weighed.instances) == (10, 10, ())


def test_the_order_in_which_games_end_changes_nothing():
    games = random_games(states=4, games=5)
    first = with_advantages(grouped(games), "grpo")
    random.Random(1).shuffle(games)
    again = with_advantages(grouped(games), "grpo")
    assert [(game.game_id, game.seat, advantage) for game, advantage in again.instances] == [
        (game.game_id, game.seat, advantage) for game, advantage in first.instances
    ]
    for index, seat in {(game.index, game.seat) for game in games}:
        of_group = [advantage for game, advantage in first.instances if (game.index, game.seat) == (index, seat)]
        assert len(of_group) == 5
        assert sum(of_group) == pytest.approx(0, abs=1e-9)


def test_a_seats_baseline_is_what_was_known_before_the_update():
    baseline = RoleEMA(0.75)
    first = [group(0.2, index=0, seat=0), group(0.6, index=1, seat=0), group(1.0, index=0, seat=1)]
    assert [value.tolist() for value in baseline.advantages(first)] == [
        [pytest.approx(-0.2)], [pytest.approx(0.2)], [0.0]
    ]  # fmt: skip
    assert baseline.state() == {"0": pytest.approx(0.4), "1": 1.0}
    assert baseline.advantages([group(0.8, seat=0)])[0] == pytest.approx([0.4])
    assert baseline.state() == {"0": pytest.approx(0.75 * 0.4 + 0.25 * 0.8), "1": 1.0}


def test_a_seats_baseline_comes_back_from_a_checkpoint():
    baseline, again = RoleEMA(0.9), RoleEMA(0.9)
    baseline.advantages([group(0.2), group(0.6, seat=1)])
    again.restore(json.loads(json.dumps(baseline.state())))
    later = [group(0.5, 0.5), group(0.9, seat=1)]
    for ours, theirs in zip(baseline.advantages(later), again.advantages(later), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert baseline.state() == again.state()


def test_with_a_baseline_across_states_every_group_trains():
    baseline = RoleEMA(0.9)
    baseline.restore({"0": 0.5})
    weighed = with_advantages([group(0.7), group(0.2, 0.2, index=1)], "grpo", baseline)
    assert (weighed.groups, weighed.singletons, weighed.zero_variance) == (2, 1, 1)
    assert [advantage for _, advantage in weighed.instances] == pytest.approx([0.2, -0.3, -0.3])
