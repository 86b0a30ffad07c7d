import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.games.game import Game
from selfplay.games.vector import SyncVectorGame
from selfplay.league.modes import Opponent
from selfplay.ppo.batch import make_batch
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


class Turns(Game):
    """The seats act in turn; every step pays seat 0 the number of the step and seat 1 ten times that; six steps."""

    num_actions = 2
    obs_width = 2

    def reset(self, seed):
        self.at = 0

    def to_act(self):
        return (self.at % 2,)

    def observe(self, seat):
        return [self.at + 1, seat]

    def step(self, actions):
        self.at += 1
        return (self.at, 10 * self.at), self.at == 6, False


TURNS = network(spec=NetworkSpec(obs_width=2, hidden=(8,)), heads=ActionHeads(binary=0, sizes=(2,)))


@pytest.mark.parametrize("steps", [6, 7, 9, 10])
def test_in_games_of_turns_a_transition_leads_to_the_next_decision_of_the_seat(steps):
    order = SegmentOrder(1, steps, 5, TURNS, {}, (MIRROR,))
    rollout = Block(SyncVectorGame(Turns, 1), 0).collect(order).rollout
    found = rollout.transitions()
    rows = [
        (seat, int(at), float(reward), int(after), bool(terminal))
        for (at, seat), reward, (after, _), terminal in zip(
            found.state, found.reward, found.next_state, found.terminal, strict=True
        )
    ]
    # seat 0 decides in steps 1, 3, 5 and is paid for 1 + 2, 3 + 4, 5 + 6; seat 1 in 2, 4, 6: 20 + 30, 40 + 50, 60
    whole = [(0, 1, 3, 3, False), (1, 2, 50, 4, False), (0, 3, 7, 5, False), (1, 4, 90, 6, False), (0, 5, 11, 7, True)]
    whole.append((1, 6, 60, 7, True))
    # the segment does not have the outcome of the last decision, and would not train on it if the game had ended
    assert rows == (whole + whole)[: steps - 1]
    assert rollout.decides.sum() == steps
    np.testing.assert_array_equal(rollout.action[~rollout.decides], 0)
    # V is asked for where a seat decides, and nowhere else
    assert (rollout.value[~rollout.decides] == 0).all()
    assert (rollout.value[rollout.decides] != 0).all()


def test_advantages_of_a_game_of_turns_by_hand():
    order = SegmentOrder(1, 7, 5, TURNS, {}, (MIRROR,))
    rollout = Block(SyncVectorGame(Turns, 1), 0).collect(order).rollout
    batch = make_batch([rollout], 0.5, 0.5, torch.device("cpu"))
    value = {(int(at), int(seat)): float(v) for (at, seat), v in zip(batch.obs, batch.value, strict=True)}
    last = 11 - value[5, 0]
    middle = 7 + 0.5 * value[5, 0] - value[3, 0] + 0.25 * last
    first = 3 + 0.5 * value[3, 0] - value[1, 0] + 0.25 * middle
    found = {(int(at), int(seat)): float(a) for (at, seat), a in zip(batch.obs, batch.advantage, strict=True)}
    assert len(found) == 6
    assert [found[1, 0], found[3, 0], found[5, 0]] == pytest.approx([first, middle, last], rel=1e-5)
    assert found[6, 1] == pytest.approx(60 - value[6, 1], rel=1e-6)
