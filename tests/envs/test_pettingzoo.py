import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from envs.errors import ActionError, GameError
from envs.melee.controller import MAIN_X, NEUTRAL
from envs.melee.mock import MockMelee
from envs.pettingzoo_view import ParallelView
from tests.envs.environments import first_seeds
from tests.envs.play import make, some_actions


def view(**options):
    return ParallelView(MockMelee(1, **options))


@pytest.mark.parametrize("options", [{}, {"max_episode_frames": 30, "frame_skip": 4, "delay": (2, 0)}])
def test_pettingzoo_s_api_and_seed_tests_pass(options):
    parallel_api_test(view(**options), num_cycles=1000)
    parallel_seed_test(lambda: view(**options))


def test_the_view_is_the_game():
    parallel, game = view(max_episode_frames=30), MockMelee(1, max_episode_frames=30)
    obs, _ = parallel.reset(seed=3)
    assert np.array_equal([*obs.values()], game.reset(first_seeds(3))[0])
    for actions in some_actions(30, 1):
        obs, rewards, _, truncations, infos = parallel.step(dict(zip(parallel.agents, actions[0], strict=True)))
        batch = game.step(actions)
        ended = batch.truncated.item()
        assert np.array_equal([*obs.values()], (batch.final_obs if ended else batch.obs)[0])
        assert [*rewards.values()] == batch.reward[0].tolist()
        assert [*truncations.values()] == [ended, ended]
    assert parallel.agents == []
    assert [info["score"] for info in infos.values()] == batch.score[0].tolist()
    with pytest.raises(GameError, match="reset"):
        parallel.step({})


def test_the_view_names_bad_actions_and_missing_ones():
    parallel = view()
    parallel.reset()
    with pytest.raises(ActionError, match="no action for seat_1"):
        parallel.step({"seat_0": NEUTRAL})
    with pytest.raises(ActionError, match="seat 1: main_x is 40"):
        parallel.step({"seat_0": NEUTRAL, "seat_1": np.full(13, 40) * (np.arange(13) == MAIN_X)})
    with pytest.raises(ActionError, match="seat 1: actions must be"):
        parallel.step({"seat_0": NEUTRAL, "seat_1": NEUTRAL[:-1]})


def test_the_view_shows_one_game():
    with pytest.raises(GameError, match="block of 2"):
        ParallelView(make(2))
