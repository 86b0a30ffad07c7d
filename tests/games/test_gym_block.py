import os
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from selfplay.games.errors import ActionError, GameError
from selfplay_melee.controller import MAIN_X, NEUTRAL
from selfplay_melee.gym import ENV_ID, MockMeleeEnv, MockMeleeVectorEnv
from selfplay_melee.mock import MockMelee
from selfplay_melee.opponents import Player
from tests.games.environments import batched, first_seeds, looking, play
from tests.games.play import hands_off, throw_out
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]


def test_the_autoreset_mode_is_declared():
    assert MockMeleeVectorEnv(2).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert gymnasium.make_vec(ENV_ID, num_envs=2).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@pytest.mark.parametrize("opponent", ["random", looking, batched(frame_skip=4, delay=2)])
@pytest.mark.parametrize("skip", [1, 4, 6])  # with 6, games end between two strides of a step
@pytest.mark.parametrize("delay", [0, 3])
def test_a_block_equals_single_games(opponent, skip, delay):
    options = {"opponent": opponent, "frame_skip": skip, "delay": delay, "max_episode_frames": 50, "stagger": True}
    block = gymnasium.make_vec(ENV_ID, num_envs=3, **options)
    singles = SyncVectorEnv([lambda: gymnasium.make(ENV_ID, **options)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
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
    assert reward.tolist() == [5.0, 5.0]
    assert infos["final_info"]["stats"]["frames"].tolist() == [1, 0]
    assert game.state.game["frame"].tolist() == [0, 6]
    assert (infos["final_obs"][0] != obs[0]).any()
    assert infos["final_obs"][1] is None


def test_the_opponent_is_told_in_which_games_an_episode_begins():
    told = []
    player = Player(lambda obs, _: np.tile(NEUTRAL, (len(obs), 1)), 4, 0, forget=lambda games: told.append([*games]))
    block = MockMeleeVectorEnv(3, player, max_episode_frames=20, stagger=True)
    trace = play(block, 60)
    ended = [np.flatnonzero(np.logical_or(entry[2], entry[3])).tolist() for entry in trace[1:]]
    assert told == [[0, 1, 2], *filter(None, ended)]
    assert [2] in told


def test_nobody_is_asked_to_act_for_a_game_that_waits():
    asked = []
    block = MockMeleeVectorEnv(
        2, Player(lambda obs, _: asked.append(len(obs)) or np.tile(NEUTRAL, (len(obs), 1)), 2, 0), frame_skip=6
    )
    block.reset(seed=0)
    game = block._duel.game
    game.state.players["stocks"][0, 1] = 1
    throw_out(game, 1)
    block.step(np.tile(NEUTRAL, (2, 1)))
    assert asked == [2, 1, 1]


def test_a_step_ends_one_episode_at_most():
    block = MockMeleeVectorEnv(2, batched(frame_skip=2), frame_skip=6, max_episode_frames=1)
    game = MockMelee(2, max_episode_frames=1)
    block.reset(seed=4)
    game.reset(np.concatenate([first_seeds(4), first_seeds(5)]))
    for _ in range(5):
        obs, _, _, truncated, infos = block.step(np.tile(NEUTRAL, (2, 1)))
        batch = hands_off(game)
        assert truncated.all()
        assert np.array_equal(obs, batch.obs[:, 0])
        assert (np.array([*infos["final_obs"]])[:, 0] == batch.final_obs[:, 0, 0]).all()


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


OLD = """
import gymnasium.vector as vector

del vector.AutoresetMode  # Gymnasium 0.29 knows no such modes,
vector.VectorEnv = type("VectorEnv", (), {"_add_info": vector.VectorEnv._add_info})  # and its blocks are not generic
from selfplay_melee.gym import MockMeleeVectorEnv

block = MockMeleeVectorEnv(2, "walker", max_episode_frames=3)
block.reset(seed=1)
infos = [block.step([[0] * 14] * 2)[4] for _ in range(3)]
assert "autoreset_mode" not in block.metadata
assert list(infos[2]["_final_obs"]) == [True, True]
"""


def test_a_block_of_an_older_gymnasium():
    done = finish([sys.executable, "-c", OLD], cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0, done.stderr
