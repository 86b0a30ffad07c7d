"""Chunks of a minibatch are shared by threads, but for those of the first one."""

import threading

import pytest
import torch

from selfplay.learner.stepper import Stepper
from tests.policy.networks import network


@pytest.fixture
def stepper():
    found = Stepper(network(0), 1e-3, 0.5, threads=3)
    yield found
    found.close()


def test_one_thread_works_at_the_first_minibatch_and_all_at_the_others(stepper):
    together = threading.Barrier(3, timeout=60)
    seen = []

    def gradients(chunk, moving):
        seen.append((chunk, threading.get_ident()))
        if chunk >= 3:
            together.wait()  # nobody gets past this alone
        return [torch.zeros_like(parameter) for parameter in moving], torch.zeros(1)

    stepper.step([0, 1, 2], gradients)
    assert seen == [(chunk, threading.get_ident()) for chunk in range(3)]
    stepper.step([3, 4, 5], gradients)
    assert len({thread for _, thread in seen[3:]}) == 3
