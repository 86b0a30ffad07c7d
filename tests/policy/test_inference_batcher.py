"""Threads that ask networks at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from selfplay.checkpoint import NetworkSpec
from selfplay.policy.backbones import LAYERS
from selfplay.policy.inference_batcher import InferenceBatcher
from selfplay.policy.recurrent_state import RecurrentState, infer_directly
from tests.policy.networks import SPEC, network
from tests.support.processes import LIMIT_S

THREADS = 6


class Watched:
    """A network whose first forward lasts until enough others have asked; how many rows each forward had."""

    def __init__(self, net, together):
        self.out, self.memory_width = net.out, net.memory_width
        self.rows = []
        self.fails = False
        self._net = net
        self._together = together

    def __call__(self, obs):
        return self._forward(self._net, obs)

    def step(self, obs, memory):
        return self._forward(self._net.step, obs, memory)

    def _forward(self, ask, obs, *memory):
        if not self.rows:
            while len(self._together._waiting[self]) < THREADS - 1:
                threading.Event().wait(0.001)
        self.rows.append(len(obs))
        if self.fails and len(self.rows) > 1:
            raise ArithmeticError("no such rows")
        return ask(obs, *memory)


def asked(ask, net, memories, rounds=1):
    """What threads get that start together, each with rows of its own; by thread."""
    barrier = threading.Barrier(THREADS)

    def work(i):
        barrier.wait(LIMIT_S)
        with torch.inference_mode():
            obs = observations(i)
            for _ in range(rounds):
                found = memories[i].step(net, obs, slice(None))
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(30) for future in [pool.submit(work, i) for i in range(THREADS)]]


def observations(i):
    """Of thread i, which has 1 + i % 2 seats."""
    return torch.randn(1 + i % 2, 4, generator=torch.Generator().manual_seed(i))


def remembering(kind):
    options = {"window": 4} if kind == "attention" else {}
    spec = SPEC if kind == "mlp" else NetworkSpec(kind=kind, obs_width=4, hidden=(8, 8), options=options)
    return network(spec=spec)


@pytest.mark.parametrize("kind", ["mlp", *sorted(LAYERS)])
def test_one_forward_answers_all_who_ask_meanwhile(kind):
    net, together = remembering(kind), InferenceBatcher()
    watched = Watched(net, together)
    memories = [RecurrentState(1 + i % 2, together) for i in range(THREADS)]
    found = asked(together, watched, memories)
    assert len(watched.rows) == 2  # of the first, and of all others
    assert sum(watched.rows) == sum(len(observations(i)) for i in range(THREADS))
    for i, (logits, value) in enumerate(found):
        alone = RecurrentState(1 + i % 2)
        with torch.inference_mode():
            expected = alone.step(net, observations(i), slice(None))
        torch.testing.assert_close((logits, value), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(memories[i].all(), alone.all(), rtol=1e-5, atol=1e-5)
    assert not together._waiting


def test_an_error_reaches_all_who_were_asked_about_and_nobody_else():
    net, together = network(), InferenceBatcher()
    watched = Watched(net, together)
    watched.fails = True
    memories = [RecurrentState(1 + i % 2, together) for i in range(THREADS)]
    errors = []

    class Catching(RecurrentState):
        def step(self, *arguments):
            try:
                return RecurrentState.step(self, *arguments)
            except ArithmeticError as error:
                errors.append(str(error))

    found = asked(together, watched, [Catching(1 + i % 2, together) for i in range(THREADS)])
    assert errors == ["no such rows"] * (THREADS - 1)
    assert sum(answer is not None for answer in found) == 1
    watched.fails = False
    assert memories[0].step(watched, observations(0), slice(None))[0].shape == (1, net.heads.logits)  # it goes on


def test_networks_do_not_wait_for_each_other():
    """The one stands still until the other has answered."""
    together, answered = InferenceBatcher(), threading.Event()
    slow, quick = Watched(network(0), together), network(1)

    def hold(ask, obs):
        assert answered.wait(LIMIT_S)
        return ask(obs)

    slow._forward = hold
    with ThreadPoolExecutor(1) as pool, torch.inference_mode():
        held = pool.submit(together, slow, observations(0), None)
        logits, _, _ = together(quick, observations(0), None)
        answered.set()
        held.result(30)
    torch.testing.assert_close(logits, infer_directly(quick, observations(0), None)[0])


def test_many_rounds_answer_everybody_in_order():
    net, together = remembering("gru"), InferenceBatcher()
    memories = [RecurrentState(1 + i % 2, together) for i in range(THREADS)]
    found = asked(together, net, memories, rounds=50)
    for i, (logits, _) in enumerate(found):
        alone = RecurrentState(1 + i % 2)
        with torch.inference_mode():
            for _ in range(50):
                expected, _ = alone.step(net, observations(i), slice(None))
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    assert not together._waiting
