import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Bernoulli, Categorical

from selfplay.policy.compiled_heads import LANES
from selfplay.policy.heads import HeadGroup, Heads, logprob_entropy, sample

SMALL = Heads(2, (3, 3, 2))
CONTROLLER = Heads(8, (17, 17, 17, 17, 5))
LAYOUTS = [SMALL, CONTROLLER, Heads(0, (4,)), Heads(3, ()), Heads(1, (2, 5, 5, 2, 2))]
layouts = pytest.mark.parametrize("heads", LAYOUTS, ids=str)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def random_logits(heads, rows=64, seed=0, dtype=torch.float32):
    """As a network gives them: a slice of wider rows, so not contiguous."""
    return torch.randn(rows, heads.logits + 1, generator=seeded(seed), dtype=dtype)[:, :-1] * 2


def plain(heads, logits, actions):
    """Log-probability and entropy, part by part, with torch's own distributions and autograd."""
    parts = [(Bernoulli(logits=logits[:, i]), actions[:, i].to(logits.dtype)) for i in range(heads.binary)]
    first = heads.binary
    for i, size in enumerate(heads.sizes):
        parts.append((Categorical(logits=logits[:, first : first + size]), actions[:, heads.binary + i].long()))
        first += size
    logprob = sum(distribution.log_prob(value) for distribution, value in parts)
    return logprob, sum(distribution.entropy() for distribution, _ in parts)


def every_action(heads):
    choices = [range(2)] * heads.binary + [range(size) for size in heads.sizes]
    return torch.tensor(list(itertools.product(*choices)), dtype=torch.int8)


def test_neighbours_of_one_size_are_one_group():
    assert Heads(1, (2, 5, 5, 2, 2)).groups == [HeadGroup(1, 1, 1, 2), HeadGroup(3, 2, 2, 5), HeadGroup(13, 4, 2, 2)]
    assert (CONTROLLER.logits, CONTROLLER.width) == (8 + 4 * 17 + 5, 13)


@layouts
def test_agrees_with_distributions_of_torch(heads):
    logits = random_logits(heads)
    actions, _ = sample(heads, logits, seeded())
    for found, expected in zip(logprob_entropy(heads, logits, actions), plain(heads, logits, actions), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@layouts
def test_a_sample_comes_with_the_very_logprob_that_the_learner_computes(heads):
    logits = random_logits(heads, 257)
    for greedy in (False, True):
        actions, logprob = sample(heads, logits, seeded(), greedy=greedy)
        assert torch.equal(logprob, logprob_entropy(heads, logits, actions)[0])


def test_entropy_and_probabilities_by_brute_force():
    logits = random_logits(SMALL, 5)
    actions = every_action(SMALL)
    for row in logits:
        logprob, entropy = logprob_entropy(SMALL, row.expand(len(actions), -1), actions)
        probability = logprob.double().exp()
        assert float(probability.sum()) == pytest.approx(1.0, abs=1e-5)
        assert float(entropy[0]) == pytest.approx(float(-(probability * logprob).sum()), abs=1e-5)


@layouts
def test_gradients_that_are_written_out_are_right(heads):
    logits = random_logits(heads, 3, dtype=torch.float64).requires_grad_()
    actions, _ = sample(heads, logits.detach(), seeded())
    assert torch.autograd.gradcheck(lambda z: logprob_entropy(heads, z, actions), logits)


@layouts
def test_gradients_are_those_of_autograd(heads):
    logits = random_logits(heads).requires_grad_()
    actions, _ = sample(heads, logits.detach(), seeded())
    weight = torch.randn(2, len(logits), generator=seeded(1))

    def gradient(function):
        logprob, entropy = function(heads, logits, actions)
        return torch.autograd.grad((weight[0] * logprob + weight[1] * entropy).sum(), logits)[0]

    torch.testing.assert_close(gradient(logprob_entropy), gradient(plain), rtol=1e-4, atol=1e-5)


def test_each_output_has_a_gradient_of_its_own():
    logits = random_logits(SMALL, 4).requires_grad_()
    actions, _ = sample(SMALL, logits.detach(), seeded())
    for which in (0, 1):
        found = torch.autograd.grad(logprob_entropy(SMALL, logits, actions)[which].sum(), logits)[0]
        expected = torch.autograd.grad(plain(SMALL, logits, actions)[which].sum(), logits)[0]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_frequencies_of_samples_are_the_probabilities():
    rows = 20_000
    logits = random_logits(CONTROLLER, 1, seed=3)
    actions = sample(CONTROLLER, logits.expand(rows, -1), seeded())[0].numpy()
    pressed = torch.sigmoid(logits[0, :8]).double().numpy()
    z = (actions[:, :8].mean(0) - pressed) / np.sqrt(pressed * (1 - pressed) / rows)
    assert np.abs(z).max() < 4.5
    first = 8
    for i, size in enumerate(CONTROLLER.sizes):
        expected = torch.softmax(logits[0, first : first + size].double(), 0).numpy() * rows
        found = np.bincount(actions[:, 8 + i], minlength=size)
        chi2 = ((found - expected) ** 2 / expected).sum()
        assert chi2 < size + 8 * np.sqrt(size)  # mean size - 1, deviation about sqrt(2 size)
        first += size


def test_parts_are_drawn_independently():
    actions = sample(CONTROLLER, torch.zeros(20_000, CONTROLLER.logits), seeded())[0].numpy().astype(float)
    correlation = np.corrcoef(actions.T) - np.eye(CONTROLLER.width)
    assert np.abs(correlation).max() < 0.04


def test_greedy_takes_the_likeliest_and_no_randomness():
    logits = random_logits(CONTROLLER)
    generator = seeded(5)
    before = generator.get_state()
    actions, _ = sample(CONTROLLER, logits, generator, greedy=True)
    assert torch.equal(generator.get_state(), before)
    assert torch.equal(actions[:, :8].bool(), logits[:, :8] > 0)
    assert torch.equal(actions[:, 8].long(), logits[:, 8:25].argmax(1))
    assert torch.equal(actions[:, 12].long(), logits[:, -5:].argmax(1))


def test_one_seed_gives_one_sequence():
    logits = random_logits(CONTROLLER)
    draws = [sample(CONTROLLER, logits, seeded(seed))[0] for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_random_numbers_can_be_given():
    logits = random_logits(CONTROLLER)
    drawn, logprob = sample(CONTROLLER, logits, seeded(3))
    given_numbers = torch.rand((len(logits), CONTROLLER.width), generator=seeded(3))
    given_actions, given_logprob = sample(CONTROLLER, logits, None, uniform=given_numbers)
    assert torch.equal(drawn, given_actions)
    assert torch.equal(logprob, given_logprob)
    likeliest = sample(CONTROLLER, logits, None, greedy=True)[0]
    assert torch.equal(sample(CONTROLLER, logits, None, greedy=True, uniform=given_numbers)[0], likeliest)


def test_the_largest_random_number_is_in_range_too_where_probabilities_round_to_less_than_1(monkeypatch):
    logits = random_logits(CONTROLLER, 1000)
    assert bool((torch.softmax(logits[:, 8:25], 1).cumsum(1)[:, -1] < 1 - 2**-24).any())
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.full(shape, 1 - 2**-24))
    actions, _ = sample(CONTROLLER, logits, None)
    assert actions[:, 8:12].max() == 16
    assert actions[:, 12].max() == 4


@given(st.integers(0, 3), st.lists(st.integers(1, 20), max_size=4), st.integers(0, 2**32), st.floats(0.0, 1e4))
@settings(max_examples=60)
def test_samples_are_in_range_and_numbers_finite_however_sure_the_network_is(binary, sizes, seed, scale):
    heads = Heads(binary, tuple(sizes))
    logits = (random_logits(heads, 16, seed=seed) * scale).requires_grad_()
    actions, logprob = sample(heads, logits.detach(), seeded(seed))
    highest = torch.tensor([1] * binary + [size - 1 for size in sizes])
    assert bool(((actions >= 0) & (actions <= highest)).all())
    _, entropy = logprob_entropy(heads, logits, actions)
    (gradient,) = torch.autograd.grad(entropy.sum(), logits)
    assert bool(torch.isfinite(torch.cat([logprob, entropy.detach(), gradient.flatten()])).all())


@layouts
def test_what_is_compiled_is_what_whole_tensors_give(heads, monkeypatch):
    logits = random_logits(heads, 2 * LANES + 3)
    uniform = torch.rand(len(logits), heads.width, generator=seeded(1))
    compiled = *sample(heads, logits, None, uniform=uniform), *sample(heads, logits, None, greedy=True)
    monkeypatch.setattr(Heads, "compiled_for", lambda *_: False)
    whole = *sample(heads, logits, None, uniform=uniform), *sample(heads, logits, None, greedy=True)
    for a, b in zip(compiled, whole, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at", [0, 7, 8, 20, 24, 80])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_stays_none(at, number):
    logits = random_logits(CONTROLLER, 3)
    actions, _ = sample(CONTROLLER, logits, seeded())
    logits = logits.clone()
    logits[1, at] = number
    logits.requires_grad_()
    logprob, entropy = logprob_entropy(CONTROLLER, logits, actions)
    assert torch.isfinite(logprob + entropy).tolist() == [True, False, True]
    gradient = torch.autograd.grad((logprob + entropy).sum(), logits)[0]
    assert torch.isfinite(gradient).all(1).tolist() == [True, False, True]


@pytest.mark.parametrize("rows", [1, 2, LANES - 1, LANES + 1])
def test_few_rows_are_drawn_as_many_are(rows):
    heads = Heads(binary=8, sizes=(17, 17, 17, 17, 5))
    generator = torch.Generator().manual_seed(rows)
    for _ in range(50):
        logits = 6.0 * torch.randn(rows, heads.logits, generator=generator)
        uniform = torch.rand(rows, heads.width, generator=generator)
        few, few_logprob = sample(heads, logits, None, uniform=uniform)
        filled = [part.repeat(3, 1) for part in (logits, uniform)]
        many, many_logprob = sample(heads, filled[0], None, uniform=filled[1])
        assert torch.equal(few, many[:rows])
        torch.testing.assert_close(few_logprob, many_logprob[:rows], rtol=1e-5, atol=1e-5)


def test_few_rows_with_certain_and_impossible_choices():
    heads = Heads(binary=2, sizes=(3,))
    logits = torch.tensor([[80.0, -80.0, 0.0, 90.0, -90.0]])
    for point in (0.0, 0.5, 1.0 - 2.0**-24):
        actions, logprob = sample(heads, logits, None, uniform=torch.full((1, 3), point))
        many, many_logprob = sample(heads, logits.repeat(9, 1), None, uniform=torch.full((9, 3), point))
        assert actions.tolist() == many[:1].tolist()
        assert torch.isfinite(logprob).all()
        torch.testing.assert_close(logprob, many_logprob[:1], rtol=1e-5, atol=1e-5)
