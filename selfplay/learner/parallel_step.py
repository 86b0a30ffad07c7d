"""One optimizer step from the chunks of a minibatch, computed by several threads.

On the CPU a minibatch is split into short chunks, and every thread runs torch single-threaded: there is one barrier
per minibatch instead of one per operation, which is faster and stays fast on a busy machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from threading import Barrier
from typing import TYPE_CHECKING, Final, TypeVar

import torch
from torch import Tensor

from selfplay.learner.optimizers import Adam, add_gradients, clip_and_step
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

Result = TypeVar("Result")
Gradients = Callable[[slice, Sequence[Tensor]], tuple[list[Tensor], Tensor]]
"""Takes a chunk, as a slice of the minibatch, and the trainable parameters. Returns the gradients of the chunk's share
of the mean loss, and sums for the metrics, [K]."""
CHUNK: Final = 2048  # decisions at most: the activations of a chunk fit into the cache of a core


class ParallelStep:
    """Owns the Adam optimizer and the worker threads of one network. ``step`` blocks."""

    def __init__(self, network: ActorCritic, learning_rate: float, max_grad_norm: float, threads: int = 1) -> None:
        self.network = network
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.optimizer = Adam(self.parameters, learning_rate, eps=1e-5)
        self.threads = threads if self.device.type == "cpu" else 1
        self._max_grad_norm = max_grad_norm
        self._longest = CHUNK if self.device.type == "cpu" else sys.maxsize
        self._helpers = self.threads - 1
        self._pool = ThreadPool(self._helpers, "learner", partial(torch.set_num_threads, 1))
        self._begun = False

    def chunks(self, rows: int, width: int = 1) -> list[slice]:
        """Split rows of ``width`` decisions into short slices, equally many for each thread."""
        count = self.threads * max(1, -(-rows * width // (self.threads * self._longest)))
        ends = [rows * i // count for i in range(count + 1)]
        return [slice(a, b) for a, b in pairwise(ends) if a < b]

    def step(
        self, chunks: Sequence[slice], gradients_of: Gradients, out_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Sum the gradients of all chunks in a fixed order, clip them, and apply them unless they are not finite.

        ``gradients_of`` is called from several threads, among them the caller's. With ``out_mask`` [out] only these
        rows of the network's last layer are trained.
        Returns the sums of all chunks, float64 [K], and the norm of the gradient before clipping.
        """
        trainable = self.parameters if out_mask is None else [self.network.out.weight, self.network.out.bias]
        results = self._map(chunks, lambda chunk: gradients_of(chunk, trainable))
        gradients, sums = results[0][0], results[0][1].double()
        for more, more_sums in results[1:]:
            add_gradients(gradients, more)
            sums += more_sums
        if out_mask is not None:
            gradients = [gradient * out_mask.view(-1, *[1] * (gradient.dim() - 1)) for gradient in gradients]
        return sums, clip_and_step(self.optimizer, trainable, gradients, self._max_grad_norm)

    def close(self) -> None:
        self._pool.shutdown()

    def _map(self, chunks: Sequence[slice], function: Callable[[slice], Result]) -> list[Result]:
        """The function's result for each chunk. Free threads take the next chunk; the calling thread works too."""
        waiting, found = iter(enumerate(chunks)), {}

        def work() -> None:
            for i, chunk in waiting:
                found[i] = function(chunk)

        torch.set_num_threads(1)
        if not self._begun:
            self._begin_threads()
            work()
        others = [self._pool.submit(work) for _ in range(min(self.threads, len(chunks)) - 1)]
        work()
        for other in others:
            other.result()
        return [found[i] for i in range(len(chunks))]

    def _begin_threads(self) -> None:
        """Start all worker threads before the first minibatch runs on the calling thread alone.

        When they started during its first chunk, results differed in the last bits in 3 of 60 processes.
        """
        barrier = Barrier(self._helpers + 1)
        for _ in range(self._helpers):
            self._pool.submit(barrier.wait)
        barrier.wait()
        self._begun = True


def differentiated(loss: Callable[[slice], tuple[Tensor, Tensor]]) -> Gradients:
    """Gradients by autograd, from a function that returns a chunk's share of the mean loss and its sums."""

    def gradients_of(chunk: slice, trainable: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
        total, sums = loss(chunk)
        return list(torch.autograd.grad(total, trainable)), sums

    return gradients_of
