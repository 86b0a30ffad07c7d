import math
from dataclasses import replace

import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.learner.batch import Batch
from selfplay.learner.ppo import PPOSettings
from selfplay.policy.heads import sample
from selfplay.policy.network import build_network
from tests.learner.batches import played, ppo, seeded, weights
from tests.policy.networks import SPEC, network


def update(net, batch, *, threads=1, seed=0, **settings):
    with ppo(net, threads, **settings) as learner:
        return learner.update(batch, seeded(seed))


def test_the_first_minibatch_has_a_ratio_of_1():
    net = network()
    metrics = update(net, played(net), epochs=1, batch_size=1000)
    assert metrics.approx_kl == pytest.approx(0.0, abs=1e-6)
    assert metrics.clip_fraction == 0.0
    assert metrics.policy_loss == pytest.approx(0.0, abs=1e-5)  # minus the mean of normalised advantages
    assert (metrics.epochs, metrics.minibatches, metrics.skipped) == (1, 1, 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_two_seeded_updates_are_equal_bit_for_bit(threads):
    batch = played(network())
    results = []
    for seed in (3, 3, 4):
        net = network()
        metrics = update(net, batch, threads=threads, seed=seed, batch_size=32)
        results.append((weights(net), metrics))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert not torch.equal(results[0][0], results[2][0])  # other minibatches


@pytest.mark.parametrize("threads", [2, 3])
def test_more_threads_change_the_rounding_only(threads):
    nets = [network(), network()]
    batch = played(nets[0])
    one, more = update(nets[0], batch, batch_size=40), update(nets[1], batch, threads=threads, batch_size=40)
    torch.testing.assert_close(weights(nets[0]), weights(nets[1]), atol=2e-5, rtol=1e-3)
    assert one.loss == pytest.approx(more.loss, abs=1e-4)


def test_fewer_rows_than_threads():
    net = network()
    before = weights(net)
    assert update(net, played(net, 2), threads=3, epochs=1).minibatches == 1
    assert not torch.equal(weights(net), before)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_epoch_visits_every_row_once_in_minibatches_no_larger_than_asked(threads):
    net = network(spec=SPEC.model_copy(update={"activation": "silu"}))  # of others the learner does without its call
    batch = replace(played(net, 100), obs=torch.arange(100.0)[:, None].expand(100, 4).contiguous())
    seen = []
    net.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0][:, 0].tolist()))
    metrics = update(net, batch, threads=threads, epochs=2, batch_size=32)
    assert metrics.minibatches == 8
    assert max(map(len, seen)) == 32 // threads
    rows = [row for chunk in seen for row in chunk]
    assert sorted(rows[:100]) == sorted(rows[100:]) == list(range(100))
    assert rows[:100] != rows[100:]


def test_a_minibatch_is_never_larger_than_the_batch():
    net = network()
    assert update(net, played(net, 50), epochs=3, batch_size=2048).minibatches == 3


def test_one_row_is_enough():
    net = network()
    metrics = update(net, played(net, 1))
    assert math.isfinite(metrics.loss)
    assert metrics.explained_variance == 0.0
    assert bool(torch.isfinite(weights(net)).all())


def test_advantages_are_normalised_over_the_batch():
    nets = [network(), network()]
    batch = played(nets[0])
    update(nets[0], batch)
    update(nets[1], replace(batch, advantage=batch.advantage * 8 + 100))
    torch.testing.assert_close(weights(nets[0]), weights(nets[1]), atol=1e-3, rtol=1e-2)
    assert bool((batch.advantage.abs() < 10).all())  # the caller's batch is left alone


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_moves_nothing_and_is_counted(bad):
    net = network()
    batch = played(net)
    batch.target[:] = bad
    before = weights(net)
    with ppo(net, epochs=2, batch_size=48) as learner:
        metrics = learner.update(batch, seeded())
        assert not learner.optimizer.state
    assert (metrics.skipped, metrics.minibatches) == (4, 4)
    assert torch.equal(weights(net), before)


def test_the_other_minibatches_still_count_when_one_is_skipped():
    net = network()
    batch = played(net)
    batch.target[5] = float("nan")
    before = weights(net)
    metrics = update(net, batch, epochs=3, batch_size=24, target_kl=1e9)
    assert (metrics.skipped, metrics.minibatches, metrics.epochs) == (3, 12, 3)
    for value in (metrics.policy_loss, metrics.value_loss, metrics.loss, metrics.entropy, metrics.grad_norm):
        assert math.isfinite(value)
    after = weights(net)
    assert bool(torch.isfinite(after).all())
    assert not torch.equal(after, before)


def test_the_gradient_is_clipped_and_its_norm_from_before_is_reported():
    net = network()
    metrics = update(net, played(net), epochs=1, max_grad_norm=0.01)
    gradient = torch.cat([parameter.grad.flatten() for parameter in net.parameters()])
    assert float(gradient.norm()) == pytest.approx(0.01, rel=1e-3)
    assert metrics.grad_norm > 0.1


def test_a_small_gradient_is_left_as_it_is():
    net = network()
    metrics = update(net, played(net), epochs=1, max_grad_norm=1e6)
    gradient = torch.cat([parameter.grad.flatten() for parameter in net.parameters()])
    assert float(gradient.norm()) == pytest.approx(metrics.grad_norm, rel=1e-5)


def test_too_large_a_change_ends_the_update_after_its_epoch():
    nets = [network(), network()]
    batch = played(nets[0])
    options = {"epochs": 6, "batch_size": 24, "learning_rate": 0.01}
    stopped, free = update(nets[0], batch, target_kl=0.02, **options), update(nets[1], batch, **options)
    assert free.epochs == 6
    assert 1 <= stopped.epochs < 6
    assert stopped.minibatches == 4 * stopped.epochs
    assert stopped.approx_kl < free.approx_kl
    patient = update(network(), batch, target_kl=10 * free.approx_kl, **options)  # a mean over rows, not their sum
    assert patient == free


def test_an_update_ends_when_it_is_told_to():
    net = network()
    batch = played(net)
    answers = iter([False, False, True, True])
    with ppo(net, epochs=4, batch_size=24) as learner:
        assert learner.update(batch, seeded(), lambda: next(answers)).minibatches == 2
        before = weights(net)
        assert learner.update(batch, seeded(), lambda: True).minibatches == 0
    assert torch.equal(weights(net), before)


def test_metrics_add_up():
    net = network()
    metrics = update(net, played(net), value_coefficient=0.7, entropy_coefficient=0.02)
    expected = metrics.policy_loss + 0.7 * metrics.value_loss - 0.02 * metrics.entropy
    assert metrics.loss == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "explained"),
    [([1.0, 2.0, 3.0], 1.0), ([2.0, 2.0, 2.0], 0.0), ([3.0, 2.0, 1.0], -3.0), ([0.0, 1.0, 2.0], 1.0)],
)
def test_explained_variance(value, explained):
    net = network()
    batch = played(net, 3)
    batch = replace(batch, value=torch.tensor(value), target=torch.tensor([1.0, 2.0, 3.0]))
    assert update(net, batch, epochs=1).explained_variance == pytest.approx(explained)
    assert update(net, replace(batch, target=torch.ones(3)), epochs=1).explained_variance == 0.0


def test_the_entropy_bonus_raises_entropy():
    results = {}
    for coefficient in (0.0, 1.0):
        net = network()
        batch = replace(played(net), advantage=torch.zeros(96))
        with ppo(net, entropy_coefficient=coefficient, learning_rate=3e-3) as learner:
            first = learner.update(batch, seeded()).entropy
            for i in range(5):
                last = learner.update(batch, seeded(i)).entropy
        results[coefficient] = last - first
    assert results[1.0] > 0.1 > abs(results[0.0])


@pytest.mark.parametrize(("entropy", "share"), [(2.0, 0.0), (1.0, 0.0), (0.95, 0.5), (0.9, 1.0), (0.1, 1.0)])
def test_the_entropy_bonus_begins_below_the_floor(entropy, share):
    settings = PPOSettings(entropy_coefficient=0.02, entropy_floor=1.0)
    assert settings.entropy_weight(entropy) == pytest.approx(0.02 * share)


def test_a_policy_stays_at_the_entropy_floor():
    """Advantages favour one action; without a floor the policy becomes certain of it."""
    results = {}
    for floor in (0.0, 1.5):
        net = network()
        with ppo(net, entropy_coefficient=1.0 if floor else 0.0, entropy_floor=floor, learning_rate=3e-3) as learner:
            for i in range(80):
                batch = played(net)
                last = learner.update(replace(batch, advantage=-batch.action.float().sum(1)), seeded(i)).entropy
            assert learner.settings.entropy_coefficient == (1.0 if floor else 0.0)
        results[floor] = last
    assert results[1.5] > 1.2 > results[0.0]


@pytest.mark.parametrize(("rate_only", "left"), [(False, 0.5), (True, 1.0)])
def test_regularizers_are_annealed_unless_the_rate_alone_is(rate_only, left):
    weights = {"entropy_coefficient": 0.1, "teacher_kl": 0.4, "teacher_kl_reverse": 0.2, "uniform_kl": 0.02}
    with ppo(network(), learning_rate=1e-2, **weights) as learner:
        learner.scale(0.5, rate_only=rate_only)
        scaled = learner.settings
    assert scaled.learning_rate == 0.005
    assert {name: getattr(scaled, name) for name in weights} == {name: left * w for name, w in weights.items()}


def test_the_value_learns_its_target():
    net = network()
    batch = played(net)
    batch = replace(batch, target=batch.obs[:, 0] * 2, advantage=torch.zeros(96))
    with ppo(net, learning_rate=1e-2, value_clip=1e9, max_grad_norm=10.0) as learner:
        losses = [learner.update(batch, seeded(i)).value_loss for i in range(15)]
    assert losses[-1] < losses[0] / 10


def test_an_identity_game_is_solved():
    """The observation shows an action; reward is the share of its parts that are played. 30 updates of 256 rows."""
    heads = ActionHeads(binary=1, sizes=(4, 4))
    net = build_network(NetworkSpec(obs_width=9, hidden=(32,)), heads, seeded())
    rng = seeded(1)
    torch.set_num_threads(1)
    with ppo(net, batch_size=64, learning_rate=3e-3) as learner:
        for _ in range(30):
            shown = torch.stack([torch.randint(n, (256,), generator=rng) for n in (2, 4, 4)], 1)
            classes = [torch.nn.functional.one_hot(shown[:, i], 4) for i in (1, 2)]
            obs = torch.cat([shown[:, :1], *classes], 1).float()
            with torch.no_grad():
                logits, value = net(obs)
                action, logprob = sample(net.heads, logits, rng)
            reward = (action == shown).float().mean(1)
            learner.update(Batch(obs, action, logprob, value, reward - value, reward), rng)
    assert float(reward.mean()) > 0.97
    greedy, _ = sample(net.heads, net(obs)[0].detach(), None, greedy=True)
    assert torch.equal(greedy.long(), shown)
