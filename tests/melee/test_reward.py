import numpy as np
import pytest

from selfplay.games.errors import UnknownNameError
from selfplay_melee.actions import REBIRTH_WAIT
from selfplay_melee.reward import reward_terms
from selfplay_melee.reward_weights import RewardWeights
from selfplay_melee.state import PLAYER, records
from tests.games.play import hands_off, make, some_actions, throw_out

WEIGHTS = RewardWeights.of({"stock": 1.0, "damage": 0.01})


def terms(before, after, my_damage=0.0, other_damage=0.0):
    stocks = (before[1] - after[1]) - (before[0] - after[0])
    found = reward_terms(WEIGHTS, 1, records(PLAYER, 1)[0], float(stocks), my_damage - other_damage, 0, 0.0)
    return found.stock, found.damage


@pytest.mark.parametrize(
    ("after", "stock"), [((4, 4), 0.0), ((4, 3), 1.0), ((3, 4), -1.0), ((3, 3), 0.0), ((4, 2), 2.0)]
)
def test_a_stock_is_worth_its_weight(after, stock):
    assert terms((4, 4), after) == (stock, 0.0)


def test_damage_is_weighed_by_percent():
    assert terms((4, 4), (4, 4), my_damage=12.0, other_damage=2.0) == (0.0, pytest.approx(0.1))


def test_nothing_happens_nothing_is_paid():
    game = make(4)
    for _ in range(30):
        assert not hands_off(game).reward.any()


@pytest.mark.parametrize(("seat", "reward"), [(0, [-5.0, 5.0]), (1, [5.0, -5.0])])
def test_a_lost_stock_is_paid_once(seat, reward):
    game = make(1)
    throw_out(game, seat)
    total = sum(hands_off(game).reward[0].copy() for _ in range(200))
    assert total.tolist() == reward


def test_weights_are_the_caller_s():
    game = make(1, rewards={"stock": 3})
    throw_out(game, 0)
    assert hands_off(game).reward[0].tolist() == [-3.0, 3.0]


def test_an_unknown_weight_is_refused_with_those_that_exist():
    with pytest.raises(UnknownNameError, match="unknown reward 'stok'; did you mean 'stock'"):
        make(1, rewards={"stok": 3.0})


def test_a_player_pays_while_an_opponent_with_many_percent_lives():
    game = make(1, rewards={"lingering": 0.6, "lingering_from": 100.0})
    game.state.players["percent"][0] = 150.0, 100.0
    assert hands_off(game).reward[0] == pytest.approx([0.0, -0.005])
    throw_out(game, 0)
    assert hands_off(game).reward[0] == pytest.approx([-5.0, 5.0])
    assert not hands_off(game).reward.any()


def test_both_seats_pay_for_stalling():
    game = make(1, rewards={"stalling": 0.6, "stalling_after": 2.0})
    paid = np.array([hands_off(game).reward[0].copy() for _ in range(180)])
    assert not paid[:120].any()
    assert paid[120:].sum(0) == pytest.approx([-0.6, -0.6])
    throw_out(game, 0)
    seen = set()
    for _ in range(600):
        together = hands_off(game).reward[0].sum()
        away = bool(game.state.players["action"][0, 0] <= REBIRTH_WAIT)
        assert (together == 0.0) == away  # and after a lost stock the clock goes on
        seen.add(away)
    assert seen == {True, False}


def test_a_self_destruct_costs_more_than_a_stock():
    game = make(1, rewards={"self_destruct": 3.0})
    throw_out(game, 0)
    assert hands_off(game).reward[0].tolist() == [-8.0, 5.0]
    hit = make(1, rewards={"self_destruct": 3.0})
    throw_out(hit, 0)
    hit.memory["last_hit_by_frames"][0, 0] = 10
    assert hands_off(hit).reward[0].tolist() == [-5.0, 5.0]


def test_two_players_that_help_each_other_gain_nothing():
    """Whatever both do, hitting each other in turn or waiting, they never gain together; they lose by waiting."""
    costs = {"stalling": 0.5, "stalling_after": 1.0, "lingering": 0.5, "self_destruct": 1.0}
    game = make(16, stage="battlefield", rewards=costs)
    together, damage = np.zeros(16), 0.0
    for actions in np.repeat(some_actions(300, 16, seed=1), 4, axis=0):
        batch = game.step(actions)
        sums = batch.reward.sum(1)
        assert (sums <= 1e-6).all()
        together += sums
        damage += np.abs(batch.reward[:, 0] - batch.reward[:, 1]).sum()
    assert damage > 0
    assert (together < 0).any()


def test_rewards_sum_to_zero_and_to_their_breakdown():
    game = make(16, max_episode_frames=600, rewards={"damage": 0.5}, stage="battlefield")
    total, damage = np.zeros((16, 2)), 0.0
    for actions in np.repeat(some_actions(300, 16, seed=1), 4, axis=0):
        batch = game.step(actions)
        assert not (batch.reward[:, 0] + batch.reward[:, 1]).any()
        total += batch.reward
        for b in np.flatnonzero(batch.ended):
            stats = batch.stats[b]
            assert stats["reward_stock"] + stats["reward_damage"] == pytest.approx(total[b], abs=1e-4)
            assert stats["reward_damage"] == pytest.approx(0.5 * (stats["damage"] - stats["damage_taken"]), abs=1e-6)
            assert stats["reward_stock"] == pytest.approx(5.0 * (stats["stocks"] - stats["stocks"][::-1]))
            damage += stats["damage"].sum()
            total[b] = 0.0
    assert damage > 0
