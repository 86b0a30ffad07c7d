import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

from envs.errors import ActionError, GameError, UnknownNameError
from envs.gym import ENV_ID, MockMeleeEnv, MockMeleeVectorEnv, draw_seed
from envs.melee import bots
from envs.melee.controller import CENTRE, FIELDS, MAIN_X, NEUTRAL
from envs.melee.mock import MockMelee, neutral_actions
from envs.melee.observation import OBS_WIDTH
from envs.opponents import Player
from envs.pettingzoo_view import ParallelView
from tests.envs.play import make, some_actions, throw_out

ROOT = Path(__file__).parents[2]


def looking(obs):
    """A callable that acts on what it sees: towards the opponent while it is far, else away, with a button."""
    action = NEUTRAL.copy()
    action[MAIN_X] = 2 * CENTRE if obs[0] < -0.1 else 0
    action[FIELDS.index("A")] = obs[0] > -0.2
    return action


def first_seeds(seed):
    """Of the game that a reset with this seed starts."""
    return np.array([draw_seed(np_random(seed)[0])], np.uint64)


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
    """Agent every 6 frames, opponent every 4: as a block of 2-frame steps in which each acts when its time comes."""
    seen, wanted = [], []

    def act(obs):
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
    env = MockMeleeEnv(Player(lambda obs: frames.append(1) or NEUTRAL[None], 8, 0), max_episode_frames=3)
    for episode in range(1, 4):
        env.reset()
        for _ in range(3):
            env.step(NEUTRAL)
        assert len(frames) == episode


def test_an_opponent_is_seeded_with_the_game():
    got = []
    env = MockMeleeEnv(Player(lambda obs: NEUTRAL[None], 1, 0, got.append))
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
    ("action", "message"), [(NEUTRAL + 20, "seat 1: A is 20"), (NEUTRAL[:4], "seat 1: actions"), (None, "seat 1: actions")]
)
def test_bad_actions_of_an_opponent_name_its_seat(action, message):
    env = MockMeleeEnv(lambda obs: action)
    env.reset()
    with pytest.raises(ActionError, match=message):
        env.step(NEUTRAL)


def test_an_unknown_opponent_shows_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown opponent 'randon'; did you mean 'random'"):
        MockMeleeEnv("randon")


# ---------------------------------------------------------------- many games


def test_the_autoreset_mode_is_declared():
    assert MockMeleeVectorEnv(2).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert gymnasium.make_vec(ENV_ID, num_envs=2).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@pytest.mark.parametrize("opponent", ["random", looking, batched(frame_skip=4, delay=2)])
@pytest.mark.parametrize("skip", [1, 4, 6])  # with 6, games end between two strides of a step
@pytest.mark.parametrize("delay", [0, 3])
def test_a_block_equals_single_games(opponent, skip, delay):
    options = {"opponent": opponent, "frame_skip": skip, "delay": delay, "max_episode_frames": 50, "stagger": True}
    block = gymnasium.make_vec(ENV_ID, num_envs=3, **options)
    singles = SyncVectorEnv(
        [lambda: gymnasium.make(ENV_ID, **options)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    assert block.observation_space == singles.observation_space
    assert block.action_space == singles.action_space
    trace, wanted = play(block, 120), play(singles, 120)
    for step, (entry, other) in enumerate(zip(trace, wanted, strict=True)):
        assert data_equivalence(entry, other, exact=True), f"step {step}"
    assert sum(entry[3].sum() for entry in trace[1:]) >= 3 * 120 * skip // 51 - 3
    assert any("final_info" in entry[4] for entry in trace[1:])


def test_stocks_that_end_a_step_early_leave_the_next_episode_at_its_start():
    block = MockMeleeVectorEnv(2, batched(frame_skip=4), frame_skip=6)
    block.reset(seed=0)
    game = block._duel.game
    game.state.players["stocks"][0, 1] = 1
    throw_out(game, 1)
    obs, reward, terminated, _, infos = block.step(np.tile(NEUTRAL, (2, 1)))
    assert terminated.tolist() == [True, False]
    assert reward.tolist() == [1.0, 1.0]
    assert infos["final_info"]["stats"]["frames"].tolist() == [1, 0]
    assert game.state.game["frame"].tolist() == [0, 6]
    assert (infos["final_obs"][0] != obs[0]).any()
    assert infos["final_obs"][1] is None


def test_seeds_of_a_block():
    block = MockMeleeVectorEnv(3, "idle")
    obs, _ = block.reset(seed=10)
    for i in range(3):
        assert np.array_equal(MockMeleeEnv("idle").reset(seed=10 + i)[0], obs[i])
    second, _ = block.reset()
    assert (second != obs).any()
    assert np.array_equal(block.reset(seed=[12, 10, 11])[0], obs[[2, 0, 1]])
    block.reset(seed=10)
    assert np.array_equal(block.reset()[0], second)


@pytest.mark.parametrize(
    "call",
    [
        lambda block: block.step(np.tile(NEUTRAL, (2, 1))),
        lambda block: block.reset(seed=[1, 2, 3]),
        lambda block: block.reset(options={"reset_mask": np.array([True, False])}),
    ],
)
def test_a_block_used_wrongly_says_so(call):
    with pytest.raises(GameError):
        call(MockMeleeVectorEnv(2))


def test_a_bad_action_in_a_block_names_its_game():
    block = MockMeleeVectorEnv(3, "idle")
    block.reset()
    actions = np.tile(NEUTRAL, (3, 1)).astype(int)
    actions[2, MAIN_X] = 17
    with pytest.raises(ActionError, match="game 2, seat 0: main_x is 17"):
        block.step(actions)


# ---------------------------------------------------------------- PettingZoo


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
    with pytest.raises(ActionError):
        parallel.step({"seat_0": NEUTRAL, "seat_1": NEUTRAL[:-1]})


def test_the_view_shows_one_game():
    with pytest.raises(GameError, match="block of 2"):
        ParallelView(make(2))
