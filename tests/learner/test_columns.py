"""Updates of networks that remember: columns of decisions instead of decisions."""

from dataclasses import replace

import pytest
import torch

from selfplay.checkpoint import NetworkSpec
from selfplay.learner.batch import Batch
from selfplay.learner.ppo import PPOSettings
from selfplay.policy.backbones import LAYERS
from selfplay.policy.heads import sample
from tests.learner.batches import learned, ppo, seeded, weights
from tests.policy.networks import network

COLUMNS, STEPS = 6, 10


def remembering(kind, seed=0):
    spec = NetworkSpec(kind=kind, obs_width=4, hidden=(8, 8), options={"window": 4} if kind == "attention" else {})
    return network(seed, spec=spec)


def columns(net, seed=0):
    """Columns in which ``net`` itself acted, step by step, with episodes that begin in the middle."""
    torch.set_num_threads(1)
    obs = torch.randn(COLUMNS, STEPS, 4, generator=seeded(seed))
    fresh = torch.rand(COLUMNS, STEPS, generator=seeded(seed + 1)) < 0.2
    fresh[:, 0] = False
    memory = torch.zeros(COLUMNS, net.memory_width)
    with torch.no_grad():
        *_, first = net.unroll(torch.randn(COLUMNS, 3, 4, generator=seeded(9)), memory, torch.zeros(COLUMNS, 3) > 1)
        memory, parts = first, []
        for t in range(STEPS):
            logits, value, memory = net.step(obs[:, t], memory * ~fresh[:, t, None])
            parts.append((*sample(net.heads, logits, seeded(seed + t)), value))
    action, logprob, value = (torch.stack(part, 1) for part in zip(*parts, strict=True))
    advantage = torch.randn(COLUMNS, STEPS, generator=seeded(seed + 3))
    mine = torch.rand(COLUMNS, STEPS, generator=seeded(seed + 4)) < 0.8
    return Batch(
        obs, action, logprob, value, advantage, value + advantage, memory=first, fresh=fresh, mine=mine
    )  # fmt: skip


@pytest.mark.parametrize("kind", sorted(LAYERS))
def test_the_first_minibatch_has_a_ratio_of_1(kind):
    net = remembering(kind)
    batch = columns(net)
    with ppo(net, epochs=1, batch_size=1000) as learner:
        metrics = learner.update(batch, seeded())
    assert metrics.approx_kl == pytest.approx(0.0, abs=1e-6)
    assert metrics.clip_fraction == 0.0
    assert metrics.minibatches == 1


@pytest.mark.parametrize("kind", sorted(LAYERS))
def test_it_learns_and_threads_change_the_rounding_only(kind):
    nets = [remembering(kind), remembering(kind)]
    batch = columns(nets[0])
    results = []
    for net, threads in zip(nets, (1, 2), strict=True):
        with ppo(net, threads, epochs=2, batch_size=20) as learner:
            results.append(learner.update(batch, seeded()))
    torch.testing.assert_close(weights(nets[0]), weights(nets[1]), atol=1e-4, rtol=1e-2)
    assert results[0].minibatches == results[1].minibatches == 2 * 3
    assert not torch.equal(weights(nets[0]), weights(remembering(kind)))


def test_decisions_of_others_train_nothing():
    net = remembering("gru")
    batch = columns(net)
    other = torch.where(batch.mine, batch.advantage, 100.0), torch.where(batch.mine, batch.target, -50.0)
    changed = replace(batch, advantage=other[0], target=other[1])
    grads = [learned(net, each, PPOSettings())[0] for each in (batch, changed)]
    assert all(torch.equal(a, b) for a, b in zip(*grads, strict=True))
    assert batch.decisions == int(batch.mine.sum()) == len(batch.flat())


def test_the_critic_alone_leaves_a_policy_that_remembers_as_it_is():
    net = remembering("attention")
    batch = columns(net)
    before = net.unroll(batch.obs, batch.memory, batch.fresh)[0].detach().clone()
    with ppo(net, learning_rate=0.01) as learner:
        learner.update(batch, seeded(), critic_only=True)
    assert torch.equal(before, net.unroll(batch.obs, batch.memory, batch.fresh)[0])
    assert not torch.equal(weights(net), weights(remembering("attention")))
