"""What other trainers are given is what the mock gives."""

import numpy as np
import pytest

from scripts.studies.rivals.programs.streams import OPPONENT, Streams
from selfplay_melee.mock import MockMelee, neutral_actions

GAMES, FRAMES = 3, 40
OPTIONS = {"max_episode_frames": 25, "stagger": True}
SIZES = [2] * 8 + [17] * 4 + [5, 2]


def draw(rows, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, SIZES, (rows, len(SIZES))) for _ in range(FRAMES)]


def mock(seed):
    game = MockMelee(GAMES, **OPTIONS)
    return game, game.reset(np.random.default_rng(seed).integers(2**62, size=GAMES).astype(np.uint64))


def test_both_seats_are_rows_of_the_mock():
    streams, (game, first) = Streams(GAMES, 2, 5, **OPTIONS), mock(5)
    assert streams.num_streams == 2 * GAMES
    np.testing.assert_array_equal(streams.reset(), first.reshape(2 * GAMES, -1))
    ended = 0
    for actions in draw(2 * GAMES):
        step = streams.step(actions)
        batch = game.step(actions.reshape(GAMES, 2, -1).astype(np.int8))
        np.testing.assert_array_equal(step.obs, batch.obs.reshape(2 * GAMES, -1))
        np.testing.assert_array_equal(step.reward, batch.reward.reshape(-1))
        np.testing.assert_array_equal(step.truncated, np.repeat(batch.truncated, 2))
        np.testing.assert_array_equal(step.terminated, np.repeat(batch.terminated, 2))
        over = np.repeat(batch.ended, 2)
        if over.any():
            np.testing.assert_array_equal(step.final_obs[over], batch.final_obs.reshape(2 * GAMES, -1)[over])
        ended += int(batch.ended.sum())
    assert ended > GAMES  # games went on after their first end


def test_one_seat_plays_a_scripted_player():
    streams, (game, first) = Streams(GAMES, 1, 5, **OPTIONS), mock(5)
    game.bots[:, 1] = game.bot_names.index(OPPONENT)
    np.testing.assert_array_equal(streams.reset(), first[:, 0])
    both = neutral_actions(GAMES)
    for actions in draw(GAMES):
        step = streams.step(actions)
        both[:, 0] = actions
        batch = game.step(both)
        np.testing.assert_array_equal(step.obs, batch.obs[:, 0])
        np.testing.assert_array_equal(step.reward, batch.reward[:, 0])
        assert step.truncated.shape == (GAMES,)


def test_what_a_step_gave_is_the_callers():
    streams = Streams(GAMES, 2, 5, **OPTIONS)
    first = streams.reset()
    kept = first.copy()
    for actions in draw(2 * GAMES)[:3]:
        step = streams.step(actions)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(step.obs, streams.step(actions).obs)


@pytest.mark.parametrize("seats", [1, 2])
def test_spaces_are_of_one_seat(seats):
    streams = Streams(GAMES, seats, 0)
    assert streams.observation_space.shape == (MockMelee.obs_width,)
    assert streams.action_space.nvec.tolist() == SIZES
