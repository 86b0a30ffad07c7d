"""One optimiser step from several chunks of a minibatch, which threads share.

On the CPU a minibatch is cut into as many chunks for each thread as keep them short, and every thread runs torch
single-threaded: there is one barrier a minibatch instead of one an operation, which is faster and survives a busy
machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from typing import TYPE_CHECKING, Final, TypeVar

import torch
from torch import Tensor, nn

from selfplay.learner.adam import Adam

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")
Gradients = Callable[[Chunk, Sequence[Tensor]], tuple[list[Tensor], Tensor]]
"""Of a chunk and the parameters that move: their gradients of its share of a minibatch's mean loss; and sums for the
metrics, [K]."""
CHUNK: Final = 2048  # decisions at most: what a pass over them keeps stays in the cache of a core


def descend(
    optimizer: Adam | torch.optim.Optimizer, moving: Sequence[Tensor], gradients: Sequence[Tensor], max_grad_norm: float
) -> Tensor:
    """Clip the gradients of what moves to a norm and apply them, unless they are not finite.

    Returns:
        Their norm before they were clipped; they themselves are changed.
    """
    norm = nn.utils.get_total_norm(gradients)
    if bool(torch.isfinite(norm)):
        scale = (max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
        optimizer.zero_grad()
        for parameter, gradient in zip(moving, gradients, strict=True):
            parameter.grad = gradient.mul_(scale)
        optimizer.step()
    return norm


class Stepper:
    """Owns the Adam optimiser and the worker threads of one network. ``step`` blocks."""

    def __init__(
        self, network: ActorCritic, learning_rate: float, max_grad_norm: float, threads: int = 1, *, eps: float = 1e-5
    ) -> None:
        self.network = network
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.optimizer = Adam(self.parameters, learning_rate, eps=eps)
        self.threads = threads if self.device.type == "cpu" else 1
        self._max_grad_norm = max_grad_norm
        self._longest = CHUNK if self.device.type == "cpu" else sys.maxsize
        self._helpers = self.threads - 1
        workers = max(1, self._helpers)  # a pool of none is an error
        self._pool = ThreadPoolExecutor(workers, "learner", initializer=torch.set_num_threads, initargs=(1,))
        self._begun = False

    def begin(self, weights: Mapping[str, Tensor]) -> None:
        """Take these weights, and know nothing of the gradients that led here."""
        self.network.load_state_dict(dict(weights))
        self.optimizer.state.clear()

    def cuts(self, rows: int, width: int = 1) -> list[slice]:
        """Where to cut so many rows of ``width`` decisions: as many slices for each thread as keep them short."""
        count = self.threads * max(1, -(-rows * width // (self.threads * self._longest)))
        ends = [rows * i // count for i in range(count + 1)]
        return [slice(a, b) for a, b in pairwise(ends) if a < b]

    def step(
        self, chunks: Sequence[Chunk], gradients_of: Gradients[Chunk], only: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Gradients of all chunks, summed in a fixed order, clipped, applied unless they are not finite.

        Args:
            chunks: of a minibatch.
            gradients_of: is asked in several threads, the caller's among them.
            only: mask [out] of the rows of the network's last layer that alone shall move; None: every parameter.

        Returns:
            The sums of all chunks, float64 [K], and the norm of the gradient before it was clipped.
        """
        moving: Sequence[Tensor] = self.parameters if only is None else [self.network.out.weight, self.network.out.bias]
        results = self._each(chunks, lambda chunk: gradients_of(chunk, moving))
        gradients, sums = results[0][0], results[0][1].double()
        for more, more_sums in results[1:]:
            torch._foreach_add_(gradients, more)
            sums += more_sums
        if only is not None:
            gradients = [gradient * only.view(-1, *[1] * (gradient.dim() - 1)) for gradient in gradients]
        norm = descend(self.optimizer, moving, gradients, self._max_grad_norm)
        return sums, norm

    def close(self) -> None:
        """Let the worker threads go."""
        self._pool.shutdown()

    def _each(self, chunks: Sequence[Chunk], function: Callable[[Chunk], Result]) -> list[Result]:
        """What a function gives for each chunk. Whoever is free takes the next, and this thread works too."""
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
        """Have all threads, before this one alone works at the first minibatch.

        Where threads began beside its first chunk, that was now and then off in the last bits (3 of 60 processes).
        """
        together = Barrier(self._helpers + 1)
        for _ in range(self._helpers):
            self._pool.submit(together.wait)
        together.wait()
        self._begun = True


def differentiated(loss: Callable[[Chunk], tuple[Tensor, Tensor]]) -> Gradients[Chunk]:
    """By autograd, from a chunk's share of the mean loss and its sums."""

    def gradients_of(chunk: Chunk, moving: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
        total, sums = loss(chunk)
        return list(torch.autograd.grad(total, moving)), sums

    return gradients_of
