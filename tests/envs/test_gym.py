import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

from envs.errors import ActionError, GameError, UnknownNameError
from envs.gym import ENV_ID, MockMeleeEnv, MockMeleeVectorEnv
from envs.melee import bots
from envs.melee.controller import BUTTONS, CENTRE, FIELDS, MAIN_X, NEUTRAL
from envs.melee.mock import MockMelee, neutral_actions
from envs.melee.observation import OBS_WIDTH
from envs.opponents import Player
from envs.pettingzoo_view import ParallelView
from tests.envs.play import make, some_actions, throw_out

RIGHT = NEUTRAL.copy()
RIGHT[MAIN_X] = 2 * CENTRE
ROOT = Path(__file__).parents[2]


def looking(obs):
    """A callable that acts on what it sees: towards the opponent while it is far, else away, with a button."""
    action = NEUTRAL.copy()
    action[MAIN_X] = 16 if obs[0] < -0.1 else 0
    action[len(BUTTONS) - 8] = obs[0] > -0.2
    return action


def batched(act=looking, frame_skip=1, delay=0):
    return Player(lambda obs: np.stack([act(row) for row in obs]), frame_skip, delay)


def play(env, steps, seed=0):
    """Copies of everything that random play gives; episodes follow each other."""
    env.action_space.seed(seed)
    trace = [env.reset(seed=seed)]
    for _ in range(steps):
        trace.append(env.step(env.action_space.sample()))
        if isinstance(env.unwrapped, MockMeleeEnv) and (trace[-1][2] or trace[-1][3]):
            trace.append(env.reset())
    return trace


# ---------------------------------------------------------------- one game


@pytest.mark.parametrize("opponent", [*bots.NAMES, looking, batched(frame_skip=3, delay=2)])
@pytest.mark.parametrize("options", [{}, {"frame_skip": 4, "delay": 3, "characters": ("fox", "mewtwo")}])
def test_gymnasium_s_checker_is_content(opponent, options):
    check_env(gymnasium.make(ENV_ID, opponent=opponent, **options).unwrapped)


def test_spaces():
    env = MockMeleeEnv()
    assert env.action_space == gymnasium.spaces.MultiDiscrete([2] * 8 + [17] * 4 + [5])
    assert env.observation_space.shape == (OBS_WIDTH,)
    assert env.observation_space.dtype == np.float32


def test_importing_the_environments_imports_no_policy():
    code = "import sys, envs.gym; sys.exit(any(name in sys.modules for name in ('torch', 'selfplay', 'pettingzoo')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_the_id_is_found_by_its_module():
    code = (
        "import gymnasium as g; print(g.make('envs.gym:MockMelee-v0', opponent='idle', frame_skip=4).reset(seed=1)[0].shape,"
        " g.make_vec('envs.gym:MockMelee-v0', num_envs=3).reset(seed=1)[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"({OBS_WIDTH},) (3, {OBS_WIDTH})"


def test_the_agent_has_seat_0_of_the_block():
    env = MockMeleeEnv("random", frame_skip=4, delay=2, max_episode_frames=100)
    obs, _ = env.reset(seed=5)
    seed = env.np_random.__class__(np.random.PCG64(np.random.SeedSequence(5))).integers(2**62)
    game = MockMelee(1, frame_skip=4, delay=(2, 0), max_episode_frames=100)
    game.bots[:, 1] = bots.NAMES.index("random")
    assert np.array_equal(obs, game.reset(np.array([seed], np.uint64))[0, 0])
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
    assert reward == 2 * score - 1


def test_a_seed_fixes_the_series_of_games():
    options = {"opponent": "random", "max_episode_frames": 40}
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


@pytest.mark.parametrize("action", [7, NEUTRAL[:-1], [NEUTRAL], [[1], [2, 3]], ["a"] * 13, None, [1 + 2j] * 13])
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
    assert not any(np.shares_memory(a[0], b[0]) for a, b in zip(trace, trace[1:], strict=False))


# ---------------------------------------------------------------- the other seat


def test_an_opponent_decides_at_its_own_frame_skip_on_what_it_sees():
    """Agent every 6 frames, opponent every 4: a block of 2-frame steps in which each acts when its time comes."""
    seen = []
    opponent = Player(lambda obs: seen.append(obs[0].copy()) or looking(obs[0])[None], 4, 3)
    env = MockMeleeEnv(opponent, frame_skip=6, delay=1)
    env.reset(seed=2)
    reference = MockMelee(1, frame_skip=2, delay=(1, 3))
    reference.reset(np.random.Generator(np.random.PCG64(np.random.SeedSequence(2))).integers(2**62, size=1))
    actions = neutral_actions(1)
    view = reference.restore(reference.snapshot())
    for t, chosen in enumerate(some_actions(20, 1)):
        actions[0, 0] = chosen[0, 0]
        for stride in range(3):
            acts = np.array([[stride == 0, (6 * t + 2 * stride) % 4 == 0]])
            if acts[0, 1]:
                assert (6 * t + 2 * stride) // 4 == (wanted := len(actions_seen(seen, view)))
                actions[0, 1] = looking(view[0, 1])
                wanted_view = view[0, 1].copy()
                view = reference.step(actions, acts).obs
                pending.append((wanted, wanted_view)) if (pending := []) else None
            else:
                view = reference.step(actions, acts).obs
        assert np.array_equal(env.step(chosen[0, 0])[0], view[0, 0])
    assert len(seen) == 6 * 20 // 4
