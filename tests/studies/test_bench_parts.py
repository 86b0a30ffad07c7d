"""Shares of the time of a call."""

import pytest
import torch

from scripts.studies.bench.parts import blas, shares
from selfplay.policy.compiled_activations import tanh_


def test_the_parts_and_the_rest_are_the_whole():
    x, weight, bias = torch.randn(512, 64), torch.randn(64, 64), torch.zeros(64)

    def work():
        for _ in range(20):
            tanh_(torch.mm(x, weight), bias)

    work()
    found = shares(work)
    speed = found.pop("products_gflops")
    assert speed > 0
    assert found.keys() == {"products", "activation", "rest"}
    assert min(found.values()) > 0
    assert sum(found.values()) == pytest.approx(1)


def test_the_library_is_named():
    assert "; " in blas()
