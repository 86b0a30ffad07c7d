import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch

from selfplay.league.modes import Opponent
from selfplay.learner.gae import gae
from selfplay.ppo.batch import common_gain, leads_against, make_batch, mean_score, met, scores_against, summarise
from selfplay.report.metrics import Pace, Play
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.segment import Collected, Episode, SegmentOrder
from selfplay_melee.limits import FINISHED
from selfplay_melee.show.columns import COLUMNS
from tests.policy.networks import network
from tests.support.fakes import CountingGame

RUSHER = Opponent("scripted", "rusher", "scripted")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def collected():
    def segment(seed, *opponents):
        game = CountingGame(3)
        return Block(game, seed).collect(SegmentOrder(1, 10, 1, network(), {}, opponents))

    return [segment(0, MIRROR, RUSHER), segment(1, RUSHER)]


def test_all_rows_of_the_learner_and_no_other_make_the_batch(collected):
    rollouts = [part.rollout for part in collected]
    batch = make_batch(rollouts, 0.9, 0.8, CPU)
    assert len(batch) == sum(rollout.experiences for rollout in rollouts) < 2 * 10 * 6
    for name in ("obs", "action", "logprob", "value"):
        expected = np.concatenate([getattr(rollout, name)[rollout.learner] for rollout in rollouts])
        np.testing.assert_array_equal(getattr(batch, name).numpy(), expected)
        assert getattr(batch, name).dtype == torch.from_numpy(expected).dtype


def test_advantages_are_estimated_before_rows_are_mixed(collected):
    rollouts = [part.rollout for part in collected]
    batch = make_batch(rollouts, 0.9, 0.8, CPU)
    estimates = [gae(r.reward, r.value, r.next_value, r.boundary, 0.9, 0.8)[r.learner] for r in rollouts]
    np.testing.assert_array_equal(batch.advantage.numpy(), np.concatenate(estimates))
    assert torch.equal(batch.target, batch.advantage + batch.value)


def test_one_rollout_is_enough(collected):
    rollout = collected[0].rollout
    assert len(make_batch([rollout], 0.9, 0.8, CPU)) == rollout.experiences


def episode(opponent="rusher", score=1.0, **stats):
    counts = {
        "frames": 600, "stocks": 2, "stocks_taken": 4, "damage": 300.0, "damage_taken": 200.0, "self_destructs": 1,
        "stocks_lost": 2, "ended": 2, "frames_without_hit": 120,
        "reward_stock": 2.0, "reward_damage": 1.0,
    }  # fmt: skip
    kind = {"current": "current", "rusher": "scripted"}.get(opponent, "generation")
    return Episode(opponent, kind, score, True, counts | stats)


def part(collected, episodes, met):
    return Collected(collected[0].rollout, episodes, Counter(met), frozenset())


def test_summary_by_hand(collected):
    first = part(collected, [episode(), episode(score=0.0, frames=300, reward_stock=-1.0)], {"rusher": 2})
    second = part(collected, [episode("gen_3", 0.5, stocks=0), episode("current", 0.5)], {"gen_3": 1, "current": 3})
    found = summarise([first, second], COLUMNS)
    assert found == Play(
        episodes=4, return_mean=2.25, episode_length=525.0, decisive_share=0.5, draws=2,
        means={
            "stocks": 1.5, "stocks_taken": 4.0, "damage": 300.0, "damage_taken": 200.0, "self_destructs": 1.0,
        },
        win_rate={"gen_3": 0.5, "rusher": 0.5},
        reward_terms={"stock": 1.25, "damage": 1.0},
        pace={
            "mirror": pace(1),
            "generation": pace(1),
            "scripted": pace(2, minutes=900 / 3600, stocks=24.0, damage=2000.0),
        },
    )  # fmt: skip
    assert list(found.win_rate) == ["gen_3", "rusher"]  # no mirror among them
    assert met([first, second]) == {"current": 3, "gen_3": 1, "rusher": 2}


def pace(games, minutes=1 / 6, finished=0.0, stocks=18.0, damage=1500.0, without_hit=2.0):
    rates = {
        "finished": finished,
        "stocks_per_minute": stocks,
        "damage_per_minute": damage,
        "seconds_without_hit": without_hit,
    }
    return Pace(games=games, minutes=minutes, rates=rates)


def test_the_pace_of_fights_is_of_both_players_and_weighs_by_time(collected):
    games = [
        episode("current", ended=FINISHED, frames=3600, frames_without_hit=600),
        episode("current", frames=7200, frames_without_hit=1200, stocks_taken=1, stocks_lost=0),
    ]
    (found,) = summarise([part(collected, games, {})], COLUMNS).pace.items()
    expected = pace(2, minutes=3.0, finished=0.5, stocks=3.5 / 3, damage=500 / 3, without_hit=15.0)
    assert found == ("mirror", expected)


def test_other_games_have_no_pace(collected):
    assert any(part.episodes for part in collected)
    assert summarise(collected).pace == {}


def test_without_episodes_there_is_nothing_to_tell(collected):
    nothing = part(collected, [], {})
    assert summarise([nothing]) == Play()
    assert met([nothing]) == {}


def test_mirror_games_alone_give_no_win_rate(collected):
    found = summarise([part(collected, [episode("current", 1.0)], {})])
    assert (found.win_rate, found.decisive_share) == ({}, 1.0)


def paid(opponent, payoff, lead):
    return dataclasses.replace(episode(opponent, float(lead > 0), reward_payoff=payoff), lead=lead)


def test_games_of_payoffs_report_them_by_opponent(collected):
    games = [paid("rusher", 3.0, 2.0), paid("rusher", -2.0, -1.0), paid("gen_3", 0.5, 1.0), paid("current", 9.0, 4.0)]
    parts = [part(collected, games, {})]
    assert summarise(parts, by_payoff=True).payoff == {"gen_3": 0.5, "rusher": 0.5}
    assert summarise(parts).payoff == {}
    assert leads_against(parts) == {"rusher": [2.0, -1.0], "gen_3": [1.0]}
    assert scores_against(parts) == {"rusher": [1.0, 0.0], "gen_3": [1.0]}
    assert mean_score(parts) == pytest.approx(2 / 3)
    assert mean_score(parts, by_payoff=True) == pytest.approx(0.5 + 0.5 * (2 / 3) / np.sqrt(2))
    assert mean_score([part(collected, [], {})], by_payoff=True) is None


def test_what_one_seat_gains_the_other_loses(collected):
    assert common_gain(collected) < 1e-5
    assert any(np.abs(part.rollout.reward).max() > 0.01 for part in collected)  # something happened
    rewards = collected[0].rollout.reward.copy()
    rewards[3, 1] += 0.25
    wrong = Collected(dataclasses.replace(collected[0].rollout, reward=rewards), [], Counter(), frozenset())
    assert common_gain([*collected, wrong]) == pytest.approx(0.25, abs=1e-5)
