"""Masks on their way: game, block, rollout, batch; in a thread and in a process."""

from contextlib import closing

import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.games.registry import make_game
from selfplay.league.modes import Opponent
from selfplay.learner.ppo import PPO, PPOSettings
from selfplay.policy.network import build_network
from selfplay.ppo.batch import make_batch
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.segment import SegmentOrder

OLD = Opponent("generation", "gen_0", "any_past")


def kuhn_network(seed=0):
    game = make_game("kuhn", num_games=1)
    spec = NetworkSpec(obs_width=game.obs_width, hidden=(8,))
    return build_network(spec, ActionHeads(binary=0, sizes=(3,)), torch.Generator().manual_seed(seed))


def collect(game, steps=20):
    block = Block(game, 0)
    block.warm_up()
    order = SegmentOrder(1, steps, 1, kuhn_network(), {"gen_0": kuhn_network(1)}, (MIRROR, OLD))
    return block.collect(order).rollout


@pytest.fixture(scope="module")
def rollout():
    return collect(make_game("kuhn", num_games=6))


def test_masks_are_those_of_the_observations_and_actions_are_legal(rollout):
    game = make_game("kuhn", num_games=6)
    words = np.random.SeedSequence(0).generate_state(7, np.uint64)
    obs = game.reset(words[1:])
    for t in range(len(rollout.obs)):
        np.testing.assert_array_equal(rollout.obs[t], obs.reshape(12, -1))
        np.testing.assert_array_equal(rollout.legal[t], game.legal.reshape(12, -1))
        obs = game.step(rollout.action[t].reshape(6, 2, 1)).obs
    assert np.take_along_axis(rollout.legal, rollout.action.astype(int), 2).all()


def test_who_can_only_wait_has_a_log_probability_of_0(rollout):
    forced = rollout.legal.sum(-1) == 1
    assert not rollout.logprob[forced].any()
    assert (rollout.logprob[~forced & rollout.learner] < 0).all()
    waits = rollout.legal[..., 0].reshape(len(rollout.obs), 6, 2)
    assert (waits.sum(-1) == 1).all()  # one of the two


def test_a_batch_has_the_masks_of_its_rows_and_starts_at_ratio_1(rollout):
    batch = make_batch([rollout, rollout], 1.0, 1.0, torch.device("cpu"))
    mine = rollout.legal[rollout.learner]
    np.testing.assert_array_equal(batch.legal.numpy(), np.concatenate([mine, mine]))
    learner = PPO(kuhn_network(), PPOSettings(epochs=1, batch_size=10_000))
    metrics = learner.update(batch, torch.Generator())
    learner.close()
    assert abs(metrics.approx_kl) < 1e-6
    assert metrics.clip_fraction == 0.0


def test_games_without_masks_have_none():
    game = make_game("rps", num_games=2)
    assert game.legal is None
    spec = NetworkSpec(obs_width=2, hidden=(8,))
    net = build_network(spec, ActionHeads(binary=0, sizes=(3,)), torch.Generator().manual_seed(0))
    rollout = Block(game, 0).collect(SegmentOrder(1, 4, 1, net, {}, (MIRROR,))).rollout
    assert rollout.legal is None
    assert make_batch([rollout], 1.0, 1.0, torch.device("cpu")).legal is None


def test_a_process_shows_the_same_masks(rollout):
    with closing(ProcessGame("kuhn", {"num_games": 6})) as game:
        assert game.actions == make_game("kuhn", num_games=1).actions
        other = collect(game)
        np.testing.assert_array_equal(rollout.legal, other.legal)
        np.testing.assert_array_equal(rollout.action, other.action)
        snapshot = game.snapshot()
        before = game.legal.copy()
        game.reset(np.arange(6, dtype=np.uint64))
        game.restore(snapshot)
        np.testing.assert_array_equal(game.legal, before)
    with closing(ProcessGame("rps", {"num_games": 1})) as game:
        assert game.legal is None
