"""Chunks of a minibatch are shared by threads, but for those of the first one."""

import threading

import pytest
import torch

from selfplay.learner.parallel_step import ParallelStep
from tests.policy.networks import network
from tests.support.processes import LIMIT_S


@pytest.fixture
def parallel_step():
    found = ParallelStep(network(0), 1e-3, 0.5, threads=3)
    yield found
    found.close()


def test_one_thread_works_at_the_first_minibatch_and_all_at_the_others(parallel_step):
    together = threading.Barrier(3, timeout=LIMIT_S)
    chunks = [slice(i, i + 1) for i in range(6)]
    seen = []

    def gradients(chunk, trainable):
        seen.append((chunk, threading.get_ident()))
        if chunk.start >= 3:
            together.wait()  # passes only when three threads wait
        return [torch.zeros_like(parameter) for parameter in trainable], torch.zeros(1)

    parallel_step.step(chunks[:3], gradients)
    assert seen == [(chunk, threading.get_ident()) for chunk in chunks[:3]]
    parallel_step.step(chunks[3:], gradients)
    assert len({thread for _, thread in seen[3:]}) == 3
