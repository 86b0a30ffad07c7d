import numpy as np
import pytest

from selfplay.league.modes import Opponent
from selfplay.rollout.rollout import Rollout
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.segment import SegmentOrder
from tests.policy.networks import network
from tests.support.fakes import CountingGame

EPISODE, STEP = 2, 3  # features of CountingGame
RUSHER = Opponent("scripted", "rusher", "scripted")


def collect(opponents, steps=11, **options):
    game = CountingGame(3, **options)
    return Block(game, 0).collect(SegmentOrder(1, steps, 5, network(), {}, opponents)).rollout


def by_hand():
    """Two columns, three steps; column 0 ends at t = 1, and from then on belongs to somebody else."""
    obs = np.arange(6, dtype=np.float32).reshape(3, 2, 1)
    zeros = np.zeros((3, 2), np.float32)
    boundary = np.array([[False, False], [True, False], [False, False]])
    learner = np.array([[True, True], [True, True], [False, True]])
    return Rollout(
        version=0, obs=obs, action=np.zeros((3, 2, 1), np.int8), logprob=zeros, value=zeros,
        reward=np.arange(6, dtype=np.float32).reshape(3, 2) * 10, next_value=zeros, boundary=boundary,
        learner=learner, last_obs=np.array([[6], [7]], np.float32), ended_at=np.array([[1, 0]]),
        final_obs=np.array([[99]], np.float32), terminated=np.array([True]),
    )  # fmt: skip


def test_transitions_by_hand():
    rollout = by_hand()
    found = rollout.transitions()
    assert rollout.experiences == 5
    assert found.state[:, 0].tolist() == [0, 1, 2, 3, 5]
    assert found.next_state[:, 0].tolist() == [2, 3, 99, 5, 7]
    assert found.reward.tolist() == [0, 10, 20, 30, 50]
    assert found.terminal.tolist() == [False, False, True, False, False]
    assert rollout.obs[2, 0, 0] == 4  # the rollout itself is left alone


@pytest.mark.parametrize("opponents", [(MIRROR,), (RUSHER,), (MIRROR, RUSHER)], ids=["mirror", "scripted", "mixed"])
def test_the_next_state_is_never_of_the_next_episode(opponents):
    rollout = collect(opponents)
    found = rollout.transitions()
    assert len(found.state) == rollout.experiences > 0
    np.testing.assert_array_equal(found.next_state[:, :STEP], found.state[:, :STEP])  # game, seat, episode
    np.testing.assert_array_equal(found.next_state[:, STEP], found.state[:, STEP] + 1)


def test_terminal_is_where_the_game_itself_ended():
    found = collect((MIRROR,), episodes=((3, True), (2, False))).transitions()
    game, _, episode, step = found.state.T
    dies = (game + episode) % 2 == 0
    np.testing.assert_array_equal(found.terminal, dies & (step == 2))
    assert found.terminal.sum() >= 4


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_episode_that_ends_with_the_segment_keeps_its_last_observation(steps):
    found = collect((MIRROR,), steps, episodes=((1, True),)).transitions()
    assert found.terminal.all()
    assert (found.next_state[:, STEP] == 1).all()


def test_a_segment_without_an_end_has_no_terminals():
    rollout = collect((MIRROR,), 4, episodes=((100, True),))
    assert rollout.ended_at.shape == (0, 2)
    assert not rollout.transitions().terminal.any()
