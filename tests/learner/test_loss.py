"""The loss on cases that can be worked out by hand, and the ratio on rows that were just played."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from selfplay.learner.batch import Batch
from selfplay.learner.ppo import PPOSettings, loss_gradient
from selfplay.policy.heads import Heads, logprob_entropy, sample
from selfplay.rollout.buffers import Workspace
from selfplay.update_metrics import PER_DECISION
from tests.learner.batches import learned, played
from tests.policy.networks import network

SETTINGS = PPOSettings(clip=0.2, value_clip=0.2, value_coefficient=0.5, entropy_coefficient=0.01)


class Button(nn.Module):
    """One button that is as likely pressed as not, and one value."""

    heads = Heads(1, ())
    spec = SimpleNamespace(kind="button")

    def __init__(self, value=0.0):
        super().__init__()
        self.logit = nn.Parameter(torch.zeros(1))
        self.value = nn.Parameter(torch.tensor([value]))

    def forward(self, obs):
        return self.logit.expand(len(obs), 1), self.value.expand(len(obs))


def row(ratio=1.0, advantage=0.0, old_value=0.0, target=0.0):
    """A pressed button whose probability was half divided by ``ratio`` when it was played."""
    columns = [math.log(0.5) - math.log(ratio), old_value, advantage, target]
    logprob, value, advantage, target = (torch.tensor([x]) for x in columns)
    return Batch(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.int8), logprob, value, advantage, target)


def parts(module, batch, settings=SETTINGS):
    _, sums = learned(module, batch, settings)
    return dict(zip(PER_DECISION, sums.tolist(), strict=True))


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "moves"),
    [
        (1.0, 2.0, -2.0, True),
        (1.1, 1.0, -1.1, True),
        (1.5, 1.0, -1.2, False),  # likely enough already: no further
        (1.5, -1.0, 1.5, True),  # likelier although bad: all the way back
        (0.5, 1.0, -0.5, True),  # rarer although good: all the way back
        (0.5, -1.0, 0.8, False),  # rare enough already
    ],
)
def test_the_objective_is_clipped_on_the_greedy_side_only(ratio, advantage, loss, moves):
    module = Button()
    assert parts(module, row(ratio, advantage))["policy_loss"] == pytest.approx(loss, rel=1e-5)
    (gradient, _), _ = learned(module, row(ratio, advantage), replace(SETTINGS, entropy_coefficient=0.0))
    assert (gradient.item() != 0) == moves


@pytest.mark.parametrize(("ratio", "outside"), [(1.0, 0), (1.19, 0), (1.21, 1), (0.81, 0), (0.79, 1), (3.0, 1)])
def test_clip_fraction_counts_ratios_outside(ratio, outside):
    assert parts(Button(), row(ratio))["clip_fraction"] == outside


@pytest.mark.parametrize("ratio", [0.2, 0.9, 1.0, 1.1, 4.0])
def test_kl_is_estimated_by_its_third_estimator(ratio):
    assert parts(Button(), row(ratio))["approx_kl"] == pytest.approx(ratio - 1 - math.log(ratio), abs=1e-6)


@pytest.mark.parametrize(
    ("value", "old", "target", "loss", "moves"),
    [
        (0.1, 0.0, 1.0, 0.81, True),  # near the old value: the plain square
        (0.5, 0.0, 1.0, 0.64, False),  # moved 0.5 towards the target: counts as moved by 0.2
        (-0.5, 0.0, 1.0, 2.25, True),  # moved away: counts in full
        (1.0, 1.0, 1.0, 0.0, False),
    ],
)
def test_the_value_is_clipped_around_the_old_one(value, old, target, loss, moves):
    module = Button(value)
    batch = row(old_value=old, target=target)
    assert parts(module, batch)["value_loss"] == pytest.approx(loss / 2, abs=1e-6)
    (_, gradient), _ = learned(module, batch, SETTINGS)
    assert (gradient.item() != 0) == moves


def test_the_loss_is_the_sum_of_its_parts():
    found = parts(Button(0.1), row(1.1, 1.0, target=1.0))
    assert found["entropy"] == pytest.approx(math.log(2))
    assert SETTINGS.loss(found) == pytest.approx(-1.1 + 0.5 * 0.405 - 0.01 * math.log(2), rel=1e-5)


def test_rows_add_up():
    net = network()
    batch = played(net)
    whole, sums = learned(net, batch, SETTINGS)
    halves = [learned(net, batch.items(part), SETTINGS) for part in (slice(40), slice(40, None))]
    for a, b, expected in zip(halves[0][0], halves[1][0], whole, strict=True):
        torch.testing.assert_close(a + b, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(halves[0][1] + halves[1][1], sums, rtol=1e-4, atol=1e-4)


def test_the_ratio_is_exactly_1_where_both_passes_use_the_same_rows():
    net = network()
    batch = played(net, 500)
    with torch.no_grad():
        logprob, _ = logprob_entropy(net.heads, net(batch.obs)[0], batch.action)
    assert torch.equal((logprob - batch.logprob).exp(), torch.ones(500))
    found = parts(net, batch)
    assert (found["approx_kl"], found["clip_fraction"]) == (0.0, 0.0)
    assert found["policy_loss"] == pytest.approx(float(-batch.advantage.sum()), rel=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 64, 499])
def test_the_ratio_is_1_within_a_ten_thousandth_in_batches_of_any_size(rows):
    net = network()
    batch = played(net, 500)
    part = batch.items(torch.randperm(500)[:rows])
    logprob, _ = logprob_entropy(net.heads, net(part.obs)[0], part.action)
    torch.testing.assert_close((logprob - part.logprob).exp(), torch.ones(rows), atol=1e-4, rtol=0)


@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize("rows", [1, 63, 64, 200])
def test_what_is_compiled_is_the_plain_loss_with_its_gradient(rows, taught, monkeypatch):
    heads = Heads(8, (17, 17, 5))
    generator = torch.Generator().manual_seed(rows)
    number = partial(torch.randn, generator=generator)
    out = number(rows, heads.logits + 1)
    logits, value = out[:, :-1], out[:, -1]
    near = 0.1 * number(rows)  # half of the ratios and values are within the clip
    actions, logprob = sample(heads, logits, generator)
    nothing = torch.zeros(rows, 1)
    batch = Batch(nothing, actions, logprob + near, value + 2 * near, number(rows), number(rows))
    settings = SETTINGS
    if taught:
        batch = replace(batch, teacher=2 * number(rows, heads.logits))
        settings = replace(SETTINGS, teacher_kl=0.7, teacher_kl_reverse=0.4, uniform_kl=0.3)
    compiled = loss_gradient(heads, out, batch, settings, Workspace())
    monkeypatch.setattr(Heads, "compiled_for", lambda *_: False)
    plain = loss_gradient(heads, out, batch, settings, Workspace())
    assert bool(plain[1][5] > 0) == bool(plain[1][7] > 0) == taught
    torch.testing.assert_close(compiled[0], plain[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(compiled[1], plain[1], rtol=1e-4, atol=1e-4)
    outside = float(plain[1][4]) / rows
    assert rows == 1 or 0.02 < outside < 0.98


@pytest.mark.parametrize("compiled", [True, False])
def test_the_plain_loss_is_what_its_formula_says(compiled, monkeypatch):
    """Its gradient is what small changes of the outputs make of the loss."""
    heads, generator = Heads(2, (3, 4)), torch.Generator().manual_seed(0)
    out = torch.randn(6, heads.logits + 1, generator=generator)
    actions, logprob = sample(heads, out[:, :-1], generator)
    shift = torch.tensor([0.0, 0.1, 0.5, -0.5, 0.5, -0.5])
    advantage = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    batch = Batch(torch.zeros(6, 1), actions, logprob - shift, out[:, -1] - shift, advantage, -advantage)
    if not compiled:
        monkeypatch.setattr(Heads, "compiled_for", lambda *_: False)

    def loss(at):
        sums = loss_gradient(heads, at, batch, SETTINGS, Workspace())[1].double()
        return SETTINGS.loss(dict(zip(PER_DECISION, sums.tolist(), strict=True)))

    gradient, step = loss_gradient(heads, out, batch, SETTINGS, Workspace())[0], 1e-2
    for row in range(len(out)):
        for column in range(out.shape[1]):
            change = torch.zeros_like(out)
            change[row, column] = step
            slope = (loss(out + change) - loss(out - change)) / (2 * step)
            assert float(gradient[row, column]) == pytest.approx(slope, abs=2e-3)


def test_a_number_that_is_none_reaches_the_gradient():
    net = network()
    for field in ("advantage", "target", "logprob"):  # the old value is part of its target
        batch = played(net)
        getattr(batch, field)[3] = float("nan")
        gradients, _ = learned(net, batch, SETTINGS)
        assert not all(bool(torch.isfinite(part).all()) for part in gradients), field


def test_the_critic_alone_has_a_gradient_of_the_value_alone():
    net = network()
    batch = played(net)
    both, sums = learned(net, batch, SETTINGS)
    alone, same = learned(net, batch, SETTINGS, critic_only=True)
    torch.testing.assert_close(alone[-1][-1], both[-1][-1])
    assert not alone[-1][:-1].any()
    assert torch.equal(sums, same)
