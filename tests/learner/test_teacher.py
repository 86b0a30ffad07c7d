"""Learning beside a teacher: its KL terms, the critic alone, and updates that are taken back."""

from dataclasses import replace

import pytest
import torch

from selfplay.learner.ppo import PPOSettings
from selfplay.policy.heads import Heads, divergence, probabilities
from selfplay.update_metrics import PER_DECISION
from tests.learner.batches import learned, played, ppo, seeded, weights
from tests.policy.networks import network

HEADS = Heads(2, (3, 3, 2))


def logits(seed, rows=5):
    return torch.randn(rows, HEADS.logits, generator=seeded(seed))


def test_divergence_by_hand():
    p, q = logits(0), logits(1)
    a, b = probabilities(HEADS, p), probabilities(HEADS, q)
    expected = (a * (a / b).log()).sum(1)  # of the classes; a button also has its other half
    off_a, off_b = 1 - a[:, :2], 1 - b[:, :2]
    expected += (off_a * (off_a / off_b).log()).sum(1)
    torch.testing.assert_close(divergence(HEADS, p, q), expected)
    torch.testing.assert_close(divergence(HEADS, p, p), torch.zeros(5), atol=1e-6, rtol=0)
    assert (divergence(HEADS, p, q) > 0).all()


def beside(net, teacher):
    batch = played(net)
    with torch.no_grad():
        return replace(batch, teacher=teacher(batch.obs)[0])


@pytest.mark.parametrize("name", ["teacher_kl", "teacher_kl_reverse"])
def test_the_terms_of_the_loss_and_what_is_told_of_them(name):
    net, teacher = network(0), network(1)
    batch = beside(net, teacher)
    settings = PPOSettings(**{name: 0.5})
    plain, parts = learned(net, batch, PPOSettings())
    with_term, same = learned(net, batch, settings)
    own = net(batch.obs)[0]
    pair = (batch.teacher, own) if name == "teacher_kl" else (own, batch.teacher)
    expected = divergence(net.heads, *pair).sum()
    for a, b, term in zip(with_term, plain, torch.autograd.grad(expected, list(net.parameters())), strict=True):
        torch.testing.assert_close(a - b, 0.5 * term, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(parts, same)
    torch.testing.assert_close(parts[5 if name == "teacher_kl" else 6], expected)
    told = dict(zip(PER_DECISION, parts.tolist(), strict=True))
    assert settings.loss(told) - PPOSettings().loss(told) == pytest.approx(0.5 * float(expected.detach()), rel=1e-5)


@pytest.mark.parametrize("name", ["teacher_kl", "teacher_kl_reverse", "uniform_kl"])
def test_a_strong_term_brings_the_policy_to_its_reference(name):
    net, teacher = network(0), network(1, spread=5.0)
    batch = beside(net, teacher)
    settings = {name: 10.0, "learning_rate": 0.01, "epochs": 30, "batch_size": 200}
    with ppo(net, **settings) as learner:
        first = getattr(learner.update(batch, seeded()), name)
        last = getattr(learner.update(batch, seeded()), name)
    assert last < 0.3 * first


def test_the_critic_alone_leaves_the_policy_as_it_is_to_the_bit():
    net = network()
    batch = played(net)
    logits_before, value_before = (part.detach().clone() for part in net(batch.obs))
    with ppo(net, learning_rate=0.01, epochs=50) as learner:
        first = learner.update(batch, seeded(), critic_only=True)
        learner.update(batch, seeded(), critic_only=True)
    logits_after, value_after = net(batch.obs)
    assert torch.equal(logits_before, logits_after)
    assert (value_after - batch.target).square().mean() < (value_before - batch.target).square().mean()
    assert first.reverted == 0
    with ppo(net, learning_rate=0.01) as learner:
        learner.update(batch, seeded())
    assert not torch.equal(logits_before, net(batch.obs)[0])


def test_an_update_that_goes_too_far_is_taken_back_whole():
    net = network()
    batch, before = played(net), weights(net)
    wild = {"learning_rate": 0.5, "epochs": 10, "max_grad_norm": 100.0}
    with ppo(net, step_kl=0.05, **wild) as learner:
        metrics = learner.update(batch, seeded())
        assert (metrics.reverted, metrics.step_kl > 0.05) == (1, True)
        assert torch.equal(weights(net), before)
        assert not learner.optimizer.state  # it had none
        gentle = learner.settings
        learner.settings = replace(gentle, learning_rate=1e-5)
        learner.optimizer.learning_rate = 1e-5
        metrics = learner.update(batch, seeded())
        assert (metrics.reverted, 0 < metrics.step_kl < 0.05) == (0, True)
        assert not torch.equal(weights(net), before)
    with ppo(network(), step_kl=0.0, **wild) as learner:
        assert learner.update(batch, seeded()).reverted == 0


def test_after_the_critic_alone_the_first_step_of_the_policy_is_no_larger_than_any_first_step():
    """Adam bounds its first steps because it counts them; those of a policy at rest must not count."""
    moved = {}
    for alone in (0, 30):
        net = network()
        batch, before = played(net), weights(net)
        with ppo(net, learning_rate=1e-3, epochs=1, batch_size=1000) as learner:
            for _ in range(alone):
                learner.update(batch, seeded(), critic_only=True)
            if alone:
                learner.forget_gradients()
            policy = net.out.weight.detach()[:-1].clone()
            learner.update(batch, seeded())
            moved[alone] = float((net.out.weight.detach()[:-1] - policy).abs().max())
        assert not torch.equal(weights(net), before)
    assert moved[30] <= 1.05 * moved[0]
