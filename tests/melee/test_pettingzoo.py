import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from selfplay.games.errors import ActionError, GameError
from selfplay.games.registry import make_game
from selfplay_melee import pettingzoo_view
from selfplay_melee.controller import MAIN_X, NEUTRAL
from selfplay_melee.mock import MockMelee
from selfplay_melee.pettingzoo_view import ParallelView
from tests.games.environments import first_seeds
from tests.games.play import make, some_actions


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
        parallel.step({"seat_0": NEUTRAL, "seat_1": np.full(14, 40) * (np.arange(14) == MAIN_X)})
    with pytest.raises(ActionError, match="seat 1: actions must be"):
        parallel.step({"seat_0": NEUTRAL, "seat_1": NEUTRAL[:-1]})


def test_the_view_shows_one_game():
    with pytest.raises(GameError, match="block of 2"):
        ParallelView(make(2))


# ---------------------------------------------------------------- as PettingZoo's own are made


@pytest.mark.filterwarnings("ignore:Action space for each agent probably")  # a controller has many parts
def test_the_functions_pass_pettingzoo_s_tests():
    parallel_api_test(pettingzoo_view.parallel_env(max_episode_frames=200), num_cycles=200)
    parallel_seed_test(pettingzoo_view.parallel_env)
    api_test(pettingzoo_view.env(max_episode_frames=200), num_cycles=200)
    seed_test(pettingzoo_view.env)


def test_the_functions_play_at_the_frame_skip_of_policies():
    parallel, aec = pettingzoo_view.parallel_env(), pettingzoo_view.env()
    parallel.reset(seed=1)
    parallel.step(dict.fromkeys(parallel.agents, NEUTRAL))
    aec.reset(seed=1)
    for _ in aec.agents:
        aec.step(NEUTRAL)
    assert [each._game.state.game["frame"].item() for each in (parallel, aec.unwrapped)] == [4, 4]


@pytest.mark.parametrize("make_env", [pettingzoo_view.parallel_env, pettingzoo_view.env])
def test_the_functions_render(make_env):
    env = make_env(render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == (360, 640, 3)
    assert env.metadata["render_fps"] == 15
    env.close()
    text = make_env(render_mode="ansi")
    text.reset(seed=1)
    assert "seat_1 " in text.render()
    assert make_env().render_mode is None


def test_calls_in_a_wrong_order_are_refused():
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called"):
        pettingzoo_view.env().step(NEUTRAL)


def test_only_fights_are_rendered():
    with pytest.raises(GameError, match="only fights"):
        ParallelView(make_game("kuhn", num_games=1), render_mode="ansi")
    assert ParallelView(make_game("kuhn", num_games=1)).metadata["render_modes"] == []
