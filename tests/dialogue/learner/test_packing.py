import random
from dataclasses import replace

import numpy as np
import pytest

from selfplay.dialogue.instances import grouped
from selfplay.dialogue.packing import row_of, with_advantages
from selfplay.dialogue.settings import refuse_single_games
from selfplay.errors import ConfigError, LearnerError
from selfplay.learner.advantages import RoleEMA
from tests.dialogue.learner.token_models import instance, random_games

KINDS = ("grpo", "dr_grpo", "rloo")


def group(*rewards, index=0, seat=0):
    games = [instance([1, 2], [1], reward, index, f"{number:03}", seat) for number, reward in enumerate(rewards)]
    return grouped(games)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_one_is_left_out(kind):
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


def test_with_a_baseline_across_states_every_group_trains():
    baseline = RoleEMA(0.9)
    baseline.restore({"0": 0.5})
    weighed = with_advantages([group(0.7), group(0.2, 0.2, index=1)], "grpo", baseline)
    assert (weighed.groups, weighed.singletons, weighed.zero_variance) == (2, 1, 1)
    assert [advantage for _, advantage in weighed.instances] == pytest.approx([0.2, -0.3, -0.3])


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
