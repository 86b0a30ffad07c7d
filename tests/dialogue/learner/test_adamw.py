"""Steps of the optimizer of language models, for replies of different lengths and models of different sizes."""

import pytest
import torch
from torch import nn

from selfplay.learner.optimizers import adamw
from tests.dialogue.learner.token_models import TinyTransformer, games_of, learning, weights

RATE = 1e-3
LENGTHS, WIDTHS = (8, 48, 512), (16, 96, 384)  # 2 thousand to 800 thousand parameters


def trained(length, updates, width=16, **settings):
    """The weights after some updates of a model whose replies may have so many tokens."""
    module = TinyTransformer(width=width)
    with learning(module, learning_rate=RATE, row_tokens=length, batch_rows=1000, **settings) as learner:
        for number in range(updates):
            learner.update(games_of(module, seed=number), torch.Generator())
    return module


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_step_is_as_large_as_the_learning_rate(width, length):
    moved = (weights(trained(length, 1, width)) - weights(TinyTransformer(width=width))).abs() / RATE
    assert float(moved[moved > 0].mean()) == pytest.approx(1.0, abs=0.03)


def test_the_norm_is_clipped_alike_however_long_replies_may_be():
    short, long, free = (
        weights(trained(length, 3, max_grad_norm=most)) for length, most in ((8, 0.05), (512, 0.05), (512, 1e9))
    )
    assert float((short - free).abs().max()) > 0.1 * RATE
    torch.testing.assert_close(long, short, rtol=0, atol=0.01 * RATE)


def steps(gradients, network=None):
    """The parameters of a layer after steps with the gradients."""
    network = network or nn.Linear(3, 4, bias=False)
    with torch.no_grad():
        network.weight.zero_()
    optimizer = adamw(network, RATE, 0.0)
    for gradient in gradients:
        network.weight.grad = gradient.clone()
        optimizer.step()
    return network.weight.detach() / RATE


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6])
def test_steps_do_not_depend_on_the_size_of_gradients(size):
    gradients = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(steps(size * gradients), steps(gradients))


def test_the_gradient_of_a_new_adapter_counts_and_a_rounding_error_does_not():
    gradient = torch.ones(4, 3)
    gradient[0] = torch.tensor([3e-5, 1e-8, 0.0])
    moved = -steps([gradient])
    assert moved[0, 0] == pytest.approx(0.75, abs=0.05)
    assert 0 < moved[0, 1] < 0.002
    assert moved[0, 2] == 0
    assert moved[1:].flatten().tolist() == pytest.approx([1.0] * 9, abs=1e-4)


def test_key_biases_whose_gradient_is_0_but_for_rounding_hardly_move():
    before, after = TinyTransformer(width=64), trained(512, 3, width=64)
    moved = (after.attention.bias - before.attention.bias).detach().abs() / RATE
    query, key, value = moved.chunk(3)
    assert float(key.max()) < 0.05
    assert min(float(query.mean()), float(value.mean())) > 0.5


def test_without_any_gradient_nothing_moves():
    assert torch.equal(steps([torch.zeros(4, 3)] * 3), torch.zeros(4, 3))


def test_a_batch_without_a_gradient_takes_the_eps_of_earlier_ones():
    gradient = torch.ones(4, 3)
    gradient[0, 0] = 1e-8
    noise = -steps([gradient, torch.zeros(4, 3)])[0, 0]
    assert 0 < noise < 0.01
