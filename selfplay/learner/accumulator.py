"""One optimizer step from the micro-batches of a batch, over several threads or processes.

Micro-batches are assigned to them in turn. Each sums its gradients, and the sums are added in a fixed order, so the
number of threads or processes changes the rounding only. The loss of a micro-batch must therefore be its share of the
batch's loss (``token_batch.token_weights``), not a mean of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, distributed

from selfplay.learner.optimizers import add_gradients, clip_and_step
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from selfplay.learner.sharding import ShardedModel

Micro = TypeVar("Micro")
Result = TypeVar("Result")


class Accumulator:
    """Owns the worker threads of one optimizer. ``step`` blocks.

    With a model that several processes share, all of them make the same calls with the same arguments. Each computes
    its part of the micro-batches, in one thread.
    """

    def __init__(
        self, optimizer: torch.optim.AdamW, max_grad_norm: float, threads: int, shared: ShardedModel | None = None
    ) -> None:
        self.optimizer = optimizer
        self.parameters: list[Tensor] = optimizer.param_groups[0]["params"]
        self.device = self.parameters[0].device
        self._max_grad_norm = max_grad_norm
        self._shared = shared
        self._threads = threads if self.device.type == "cpu" and shared is None else 1
        inner = 1 if shared is None else threads
        self._pool = ThreadPool(self._threads, "learner", partial(torch.set_num_threads, inner))
        self.parts = self._threads if shared is None else shared.count
        """Number of micro-batches that are computed at once."""

    def map(self, items: Sequence[Micro], function: Callable[[Micro], Result]) -> list[tuple[Micro, Result]]:
        """This process's items with the function's results, computed without gradients."""

        def each(item: Micro) -> tuple[Micro, Result]:
            with torch.no_grad():
                return item, function(item) if self._shared is None else self._shared(partial(function, item))

        if self._shared is None:
            return list(self._pool.map(each, items))
        mine = _turns(items, self._shared)
        found = self._pool.map(each, [item for item, _ in mine])
        return [result for result, (_, counts) in zip(found, mine, strict=True) if counts]

    def step(
        self, micros: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]], weight: float = 1.0
    ) -> tuple[list[Tensor], Tensor]:
        """Sum the gradients of all micro-batches, clip them, and apply them unless they are not finite.

        ``micros`` are those of all processes. ``loss`` gives a micro-batch's share of the batch's loss, and metrics
        [K]. ``weight`` is that of all tokens of the batch together; the maximum norm is that of weight 1.
        Returns the metrics of this process's micro-batches, and the norm of the gradient before clipping.
        """
        if self._shared is None:
            shares = [micros[thread :: self._threads] for thread in range(self._threads)]
            futures = [self._pool.submit(self._sum, share, loss) for share in shares if share]
        else:
            futures = [self._pool.submit(self._sum_of_all, self._shared, micros, loss)]
        (gradients, numbers), *others = [future.result() for future in futures]
        for more, found in others:
            add_gradients(gradients, more)
            numbers += found
        norm = clip_and_step(self.optimizer, self.parameters, gradients, weight * self._max_grad_norm)
        return numbers, norm

    def add_up(self, tensor: Tensor, *, greatest: bool = False) -> Tensor:
        """Sum over all processes, or the maximum, in place."""
        if self._shared is not None:
            distributed.all_reduce(tensor, distributed.ReduceOp.MAX if greatest else distributed.ReduceOp.SUM)
        return tensor

    def close(self) -> None:
        self._pool.shutdown()

    def _sum(
        self, share: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Summed gradients of the micro-batches of one thread, and their metrics."""
        total = [torch.zeros_like(parameter) for parameter in self.parameters]
        numbers = []
        for micro in share:
            value, found = loss(micro)
            numbers.append(found)
            add_gradients(total, torch.autograd.grad(value, self.parameters, allow_unused=True, materialize_grads=True))
        return total, numbers

    def _sum_of_all(
        self, shared: ShardedModel, micros: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """This process's part of the gradients of all micro-batches, and the metrics of its own."""
        self.optimizer.zero_grad()
        numbers = []
        for micro, counts in _turns(micros, shared):
            value, found = shared(partial(loss, micro))
            (value if counts else 0.0 * value).backward()
            if counts:
                numbers.append(found)
        total = [torch.zeros_like(each) if each.grad is None else each.grad for each in self.parameters]
        return total, numbers


def _turns(items: Sequence[Micro], shared: ShardedModel) -> list[tuple[Micro, bool]]:
    """The items of a process, and whether they count.

    All processes have equally many, since the layers of one wait for those of the others: the last item fills up.
    """
    rounds = -(-len(items) // shared.count)
    numbers = range(shared.rank, rounds * shared.count, shared.count)
    return [(items[min(number, len(items) - 1)], number < len(items)) for number in numbers]
