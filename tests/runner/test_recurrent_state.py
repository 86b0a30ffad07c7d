"""Blocks of players that remember."""

import numpy as np
import pytest
import torch

from selfplay.checkpoint import NetworkSpec
from selfplay.league.modes import Opponent
from selfplay.policy.backbones import LAYERS
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.segment import SegmentOrder
from tests.policy.networks import network
from tests.support.fakes import CountingGame

GEN_1 = Opponent("generation", "gen_1", "recent")
RUSHER = Opponent("scripted", "rusher", "scripted")
KINDS = sorted(LAYERS)


def remembering(kind, seed=0):
    spec = NetworkSpec(kind=kind, obs_width=4, hidden=(8, 8), options={"window": 4} if kind == "attention" else {})
    return network(seed, spec=spec)


def order(net, opponents=(MIRROR, RUSHER, GEN_1), steps=12, **more):
    return SegmentOrder(1, steps, 1, net, {"gen_1": network(5)}, opponents, **more)


def unrolled(net, rollout, column):
    """What the network says of one column when it sees it in one go: log-probabilities of nothing, but values."""
    obs = torch.from_numpy(rollout.obs[:, column]).transpose(0, 1)
    fresh = torch.from_numpy(rollout.fresh[:, column]).T
    with torch.inference_mode():
        return net.unroll(obs, torch.from_numpy(rollout.memory[column]), fresh)


@pytest.mark.parametrize("kind", KINDS)
def test_a_segment_seen_in_one_go_gives_the_values_that_were_played(kind):
    net, block = remembering(kind), Block(CountingGame(4), 0)
    for first in (True, False):  # the second one goes on in the middle of episodes
        rollout = block.collect(order(net)).rollout
        _, values, _ = unrolled(net, rollout, slice(None))
        mine = rollout.learner
        np.testing.assert_allclose(values.T.numpy()[mine], rollout.value[mine], atol=1e-5)
        assert rollout.memory.any() != first
        assert rollout.boundary[:-1].any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_of_the_next_state_knows_what_came_before_it(kind):
    net, block = remembering(kind), Block(CountingGame(4), 0)
    rollout = block.collect(order(net)).rollout
    t, column = rollout.ended_at.T
    for i in np.flatnonzero(~rollout.terminated):
        upto = slice(0, t[i] + 1)
        obs = np.concatenate([rollout.obs[upto, column[i]], rollout.final_obs[i, None]])
        fresh = np.append(rollout.fresh[upto, column[i]], False)
        with torch.inference_mode():
            memory = torch.from_numpy(rollout.memory[column[i], None])
            _, values, _ = net.unroll(torch.from_numpy(obs)[None], memory, torch.from_numpy(fresh)[None])
        if rollout.learner[t[i], column[i]]:
            np.testing.assert_allclose(rollout.next_value[t[i], column[i]], values[0, -1], atol=1e-5)
    assert (~rollout.terminated & rollout.learner[t, column]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_continued_from_a_snapshot_plays_as_the_one_that_went_on(kind):
    net, teacher = remembering(kind), remembering("gru", 7)
    first = Block(CountingGame(3), 0)
    first.collect(order(net, teacher=teacher))
    arrays, document = first.snapshot()
    second = Block(CountingGame(3), 99)
    second.restore(arrays, document)
    a, b = (block.collect(order(net, teacher=teacher)).rollout for block in (first, second))
    for name in ("action", "logprob", "value", "next_value", "memory", "teacher"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.memory.any()


def test_the_teacher_sees_what_the_learner_sees_and_remembers_it():
    net, teacher = network(), remembering("lstm", 3)
    rollout = Block(CountingGame(4), 0).collect(order(net, teacher=teacher)).rollout
    assert rollout.memory is None
    obs = torch.from_numpy(rollout.obs).transpose(0, 1)
    fresh = torch.from_numpy(rollout.fresh).T
    with torch.inference_mode():
        logits, *_ = teacher.unroll(obs, teacher.first_memory(len(obs)), fresh)
    mine = rollout.learner
    np.testing.assert_allclose(rollout.teacher[mine], logits.transpose(0, 1).numpy()[mine], atol=1e-4)
    assert not rollout.teacher[~mine].any()


def test_a_seat_remembers_nothing_of_the_episode_before():
    """Two networks of different widths share the rows; what one leaves behind must not reach the other."""
    wide, narrow = remembering("lstm"), remembering("gru")
    memory, obs = RecurrentState(2), torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    memory.step(wide, obs, slice(None))
    memory.forget([1])
    used, _ = memory.step(narrow, obs, slice(None))
    new, _ = RecurrentState(2).step(narrow, obs, slice(None))
    assert torch.equal(used[1], new[1])
    assert not torch.equal(used[0], new[0])
    assert memory.read(wide.memory_width)[1].any()
