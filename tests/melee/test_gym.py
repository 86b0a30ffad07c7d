import itertools
import os
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from selfplay.games.errors import ActionError, GameError, UnknownNameError
from selfplay_melee import bots
from selfplay_melee.controller import FIELDS, MAIN_X, NEUTRAL
from selfplay_melee.gym import ENV_ID, MockMeleeEnv, MockMeleeVectorEnv
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import OBS_WIDTH
from selfplay_melee.opponents import Player
from tests.games.environments import batched, first_seeds, looking, play
from tests.games.play import some_actions, throw_out
from tests.support.processes import finish

UNCOMPILED = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # a process that plays no frame needs no compiled rules
ROOT = Path(__file__).parents[2]


# ---------------------------------------------------------------- one game


@pytest.mark.parametrize("opponent", [*bots.NAMES, looking, batched(frame_skip=3, delay=2)])
@pytest.mark.parametrize("options", [{}, {"frame_skip": 1, "delay": 3, "characters": ("fox", "mewtwo")}])
def test_gymnasium_s_checker_is_content(opponent, options):
    check_env(gymnasium.make(ENV_ID, opponent=opponent, **options).unwrapped, skip_render_check=True)


def test_spaces():
    env = MockMeleeEnv()
    assert env.action_space == gymnasium.spaces.MultiDiscrete([2] * 8 + [17] * 4 + [5, 2])
    assert env.observation_space.shape == (OBS_WIDTH,)
    assert env.observation_space.dtype == np.float32


def test_the_id_is_found_by_its_module_which_imports_no_policy():
    code = (
        "import sys, gymnasium as g\n"
        "print(g.make('selfplay_melee.gym:selfplay/MockMelee-v1', opponent='idle').reset(seed=1)[0].shape,"
        " g.make_vec('selfplay_melee.gym:selfplay/MockMelee-v1', num_envs=3).reset(seed=1)[0].shape,"
        " *{'torch', 'pydantic', 'selfplay.policy', 'pettingzoo'} & set(sys.modules))"
    )
    done = finish([sys.executable, "-c", code], cwd=ROOT, env=UNCOMPILED, check=True)
    assert done.stdout.strip() == f"({OBS_WIDTH},) (3, {OBS_WIDTH})"


def test_the_agent_has_seat_0_of_the_block():
    env = MockMeleeEnv("random", frame_skip=4, delay=2, max_episode_frames=100)
    obs, _ = env.reset(seed=5)
    game = MockMelee(1, frame_skip=4, delay=(2, 0), max_episode_frames=100)
    game.bots[:, 1] = bots.NAMES.index("random")
    assert np.array_equal(obs, game.reset(first_seeds(5))[0, 0])
    for actions in some_actions(80, 1):
        obs, reward, terminated, truncated, info = env.step(actions[0, 0])
        batch = game.step(actions)
        assert reward == batch.reward[0, 0]
        assert truncated == batch.truncated[0]
        assert np.array_equal(obs, (batch.final_obs if truncated else batch.obs)[0, 0])
        if truncated:
            assert info["score"] == batch.score[0, 0]
            obs, _ = env.reset()
            assert np.array_equal(obs, batch.obs[0, 0])
        assert not terminated


def test_a_capped_episode_is_truncated_with_its_result():
    env = MockMeleeEnv("idle", frame_skip=4, max_episode_frames=10)
    env.reset(seed=0)
    ends = [env.step(NEUTRAL)[2:] for _ in range(3)]
    assert [(terminated, truncated) for terminated, truncated, _ in ends] == [(False, False)] * 2 + [(False, True)]
    info = ends[-1][2]
    assert info["score"] == 0.5
    assert info["ended_by"] == "cap"
    assert info["stats"]["frames"] == 10
    assert info["stats"]["stocks"] == 4
    assert all(type(value) in (int, float) for value in info["stats"].values())
    assert [info for _, _, info in ends[:-1]] == [{}, {}]


@pytest.mark.parametrize(("loser", "score"), [(0, 0.0), (1, 1.0)])
def test_the_last_stock_terminates(loser, score):
    env = MockMeleeEnv("idle")
    env.reset(seed=0)
    env._duel.game.state.players["stocks"][0, loser] = 1
    throw_out(env._duel.game, loser)
    _, reward, terminated, truncated, info = env.step(NEUTRAL)
    assert (terminated, truncated) == (True, False)
    assert (info["score"], info["ended_by"]) == (score, "stocks")
    assert reward == 5.0 * (2 * score - 1)


def test_a_seed_fixes_the_series_of_games():
    options = {"opponent": "random", "frame_skip": 1, "max_episode_frames": 40}
    first, again = play(MockMeleeEnv(**options), 150, seed=3), play(MockMeleeEnv(**options), 150, seed=3)
    assert all(data_equivalence(a, b, exact=True) for a, b in zip(first, again, strict=True))
    starts = np.array([entry[0] for entry in first if len(entry) == 2])
    assert len(np.unique(starts, axis=0)) == len(starts) == 4


def test_an_unseeded_reset_in_the_middle_begins_another_game():
    env = MockMeleeEnv("idle")
    first, _ = env.reset(seed=1)
    env.step(NEUTRAL)
    second, _ = env.reset()
    assert (first != second).any()
    assert np.array_equal(env.reset(seed=1)[0], first)
    assert np.array_equal(env.reset()[0], second)


def test_a_reset_after_an_end_obeys_its_seed_and_goes_on_once():
    env = MockMeleeEnv("idle", frame_skip=1, max_episode_frames=2)
    first, _ = env.reset(seed=1)
    for _ in range(2):
        env.step(NEUTRAL)
    second, _ = env.reset()
    env.step(NEUTRAL)
    third, _ = env.reset()  # in the middle of the second game
    assert len(np.unique([first, second, third], axis=0)) == 3
    for _ in range(2):
        env.step(NEUTRAL)
    assert np.array_equal(env.reset(seed=1)[0], first)


def test_there_is_nothing_to_step_before_a_reset_or_after_the_end():
    env = MockMeleeEnv("idle", max_episode_frames=1)
    with pytest.raises(GameError, match="reset"):
        env.step(NEUTRAL)
    env.reset()
    assert env.step(NEUTRAL)[3]
    with pytest.raises(GameError, match="reset"):
        env.step(NEUTRAL)


@pytest.mark.parametrize("field", [0, MAIN_X, len(FIELDS) - 1])
@pytest.mark.parametrize("value", [-1, 99, 0.5, np.nan])
def test_a_bad_value_names_seat_field_and_value(field, value):
    env = MockMeleeEnv("idle")
    env.reset()
    action = NEUTRAL.astype(float)
    action[field] = value
    with pytest.raises(ActionError, match=f"seat 0: {FIELDS[field]} is {float(value)}"):
        env.step(action)


@pytest.mark.parametrize("action", [7, NEUTRAL[:-1], [NEUTRAL], [[1], [2, 3]], ["a"] * 14, None, [1 + 2j] * 14])
def test_a_bad_shape_or_type_names_the_seat(action):
    env = MockMeleeEnv("idle")
    env.reset()
    with pytest.raises(ActionError, match="seat 0: actions"):
        env.step(action)


def test_a_plain_list_is_an_action():
    env = MockMeleeEnv("idle")
    env.reset()
    env.step(NEUTRAL.tolist())


@pytest.mark.parametrize("kind", [MockMeleeEnv, MockMeleeVectorEnv])
def test_observations_stay_in_their_space_and_are_the_caller_s(kind):
    env = kind(opponent="random", max_episode_frames=500, frame_skip=2)
    trace = play(env, 400)
    assert all(entry[0] in env.observation_space for entry in trace)
    assert not any(np.shares_memory(a[0], b[0]) for a, b in itertools.pairwise(trace))


# ---------------------------------------------------------------- the other seat


def test_an_opponent_decides_at_its_own_frame_skip_on_what_it_sees():
    """Agent every 6 frames, opponent every 4: as a block of 2-frame steps in which each acts when its time comes."""
    seen, wanted = [], []

    def act(obs, _):
        seen.append(obs[0].copy())
        return looking(obs[0])[None]

    env = MockMeleeEnv(Player(act, frame_skip=4, delay=3), frame_skip=6, delay=1)
    env.reset(seed=2)
    game = MockMelee(1, frame_skip=2, delay=(1, 3))
    obs, actions = game.reset(first_seeds(2)), neutral_actions(1)
    for t, chosen in enumerate(some_actions(20, 1)):
        for frame in range(6 * t, 6 * t + 6, 2):
            actions[0, 0] = chosen[0, 0]
            if frame % 4 == 0:
                wanted.append(obs[0, 1].copy())
                actions[0, 1] = looking(obs[0, 1])
            obs = game.step(actions, np.array([[frame % 6 == 0, frame % 4 == 0]])).obs
        assert np.array_equal(env.step(chosen[0, 0])[0], obs[0, 0])
    assert np.array_equal(seen, wanted)


def test_a_bare_callable_plays_as_the_agent_does():
    options = {"frame_skip": 3, "delay": 2, "max_episode_frames": 50}
    bare, full = MockMeleeEnv(looking, **options), MockMeleeEnv(batched(frame_skip=3, delay=2), **options)
    assert data_equivalence(play(bare, 60), play(full, 60), exact=True)


def test_an_opponent_begins_each_episode_with_a_decision():
    frames = []
    env = MockMeleeEnv(
        Player(lambda obs, _: frames.append(1) or NEUTRAL[None], 8, 0), frame_skip=1, max_episode_frames=3
    )
    for episode in range(1, 4):
        env.reset()
        for _ in range(3):
            env.step(NEUTRAL)
        assert len(frames) == episode


def test_an_opponent_is_seeded_with_the_game():
    got = []
    env = MockMeleeEnv(Player(lambda obs, _: NEUTRAL[None], 1, 0, got.append))
    for seed in (5, 6, 5):
        env.reset(seed=seed)
    assert got == [int(first_seeds(seed)[0]) for seed in (5, 6, 5)]


def test_a_scripted_opponent_decides_every_few_frames_whatever_the_agent_does():
    traces = []
    for frame_skip in (1, 2, 4, 8):
        env = MockMeleeEnv("random", frame_skip=frame_skip)
        env.reset(seed=4)
        traces.append([env.step(NEUTRAL)[0] for _ in range(200 // frame_skip)][7 :: 8 // frame_skip])
    assert all(np.array_equal(trace[-10:], traces[0][-10:]) for trace in traces[1:])


@pytest.mark.parametrize(
    ("action", "message"),
    [(NEUTRAL + 20, "seat 1: A is 20"), (NEUTRAL[:4], "seat 1: actions"), (None, "seat 1: actions")],
)
def test_bad_actions_of_an_opponent_name_its_seat(action, message):
    env = MockMeleeEnv(lambda obs: action)
    env.reset()
    with pytest.raises(ActionError, match=message):
        env.step(NEUTRAL)


def test_an_unknown_opponent_shows_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown opponent 'randon'; did you mean 'random'"):
        MockMeleeEnv("randon")
