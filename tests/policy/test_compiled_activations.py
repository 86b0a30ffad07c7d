"""Compiled activations beside numpy's in double precision and torch's."""

import numpy as np
import pytest
import torch

from selfplay.checkpoint.documents import ActionHeads, NetworkSpec
from selfplay.policy.compiled_activations import WITH_BIAS, tanh_, usable
from selfplay.policy.network import build_network

NUMBERS = np.concatenate([np.linspace(-12, 12, 200_001), 10.0 ** np.linspace(-38, 1, 10_001)]).astype(np.float32)


def tanh_of(numbers):
    row = torch.from_numpy(np.array(numbers, np.float32))[None]
    return tanh_(row, torch.zeros(row.shape[1])).numpy()[0]


def test_the_hyperbolic_tangent_is_exact_to_a_few_units_in_the_last_place():
    exact = np.tanh(NUMBERS.astype(np.float64))
    error = np.abs(tanh_of(NUMBERS) - exact)
    assert error.max() < 4e-7
    assert (error <= 6 * np.spacing(np.abs(exact).astype(np.float32))).all()
    assert (np.abs(tanh_of(NUMBERS)) <= 1).all()


def test_special_numbers():
    found = tanh_of([0.0, -0.0, np.inf, -np.inf, np.nan])
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2:4] == pytest.approx([1, -1], abs=4e-7)
    assert np.isnan(found[4])


@pytest.mark.parametrize("length", [1, 3, 7, 16, 31])
def test_a_result_does_not_depend_on_its_place(length):
    """The last numbers of a row are computed one by one, the others by vector instructions."""
    some = NUMBERS[7777 : 7777 + length]
    assert np.array_equal(tanh_of(some), tanh_of(NUMBERS)[7777 : 7777 + length])


@pytest.mark.parametrize("name", WITH_BIAS)
def test_the_bias_is_added_first(name):
    generator = torch.Generator().manual_seed(1)
    x, bias = torch.randn(3, 5, 9, generator=generator), torch.randn(3, 9, generator=generator)
    expected = getattr(torch, name)(x + bias[:, None])
    torch.testing.assert_close(WITH_BIAS[name](x.clone(), bias), expected, rtol=1e-6, atol=0)
    for k in range(3):
        torch.testing.assert_close(WITH_BIAS[name](x[k].clone(), bias[k]), expected[k], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", WITH_BIAS)
def test_networks_take_them_where_no_gradient_is_kept(name):
    spec = NetworkSpec(obs_width=6, hidden=(8, 8), activation=name)
    network = build_network(spec, ActionHeads(binary=1, sizes=(3,)), torch.Generator().manual_seed(0))
    obs = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    assert not usable(obs)
    kept, _ = network(obs)
    assert kept.requires_grad
    with torch.inference_mode():
        assert usable(obs)
        torch.testing.assert_close(network(obs)[0], kept.detach(), rtol=1e-5, atol=1e-6)
        assert not usable(obs.double())
