"""One optimizer step from the micro-batches of a batch, over several threads and processes.

Micro-batches are assigned in turn: to processes, then to the threads of each. Each thread sums its gradients, and the
sums are added in a fixed order, so the numbers of threads and processes change the rounding only. The loss of a
micro-batch must therefore be its share of the batch's loss (``token_batch.token_weights``), not a mean of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, distributed

from selfplay.learner.optimizers import add_gradients, clip_and_step
from selfplay.threads import ThreadPool

Micro = TypeVar("Micro")
Result = TypeVar("Result")


class Accumulator:
    """Owns the worker threads of one optimizer. ``step`` blocks.

    With ``torch.distributed`` every process makes the same calls with the same arguments and computes its share. All
    start with the trainable parameters of the first process.
    """

    def __init__(self, optimizer: torch.optim.AdamW, max_grad_norm: float, threads: int) -> None:
        self.optimizer = optimizer
        self.parameters: list[Tensor] = optimizer.param_groups[0]["params"]
        self.device = self.parameters[0].device
        self._max_grad_norm = max_grad_norm
        self._threads = threads if self.device.type == "cpu" else 1
        self._pool = ThreadPool(self._threads, "learner", partial(torch.set_num_threads, 1))
        several = distributed.is_available() and distributed.is_initialized()
        self.processes = distributed.get_world_size() if several else 1
        self.process = distributed.get_rank() if several else 0
        most = torch.tensor(self._threads, device=self.device)  # processes must divide a batch alike
        self.parts = int(self.add_up(most, greatest=True)) * self.processes
        """Number of micro-batches that are computed at once."""
        if several:
            for parameter in self.parameters:
                distributed.broadcast(parameter.data, 0)

    def map(self, items: Sequence[Micro], function: Callable[[Micro], Result]) -> list[tuple[Micro, Result]]:
        """This process's items with the function's results, computed without gradients."""

        def each(item: Micro) -> tuple[Micro, Result]:
            with torch.no_grad():
                return item, function(item)

        return list(self._pool.map(each, items[self.process :: self.processes]))

    def step(
        self, micros: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]], weight: float = 1.0
    ) -> tuple[list[Tensor], Tensor]:
        """Sum the gradients of all micro-batches, clip them, and apply them unless they are not finite.

        ``micros`` are those of all processes. ``loss`` gives a micro-batch's share of the batch's loss, and metrics
        [K]. ``weight`` is that of all tokens of the batch together; the maximum norm is that of weight 1.
        Returns the metrics of this process's micro-batches, and the norm of the gradient before clipping.
        """
        mine = micros[self.process :: self.processes]
        shares = [mine[thread :: self._threads] for thread in range(self._threads)]
        results = [
            future.result() for future in [self._pool.submit(self._sum, share, loss) for share in shares if share]
        ]
        gradients = results[0][0] if results else [torch.zeros_like(parameter) for parameter in self.parameters]
        for more, _ in results[1:]:
            add_gradients(gradients, more)
        for gradient in gradients:
            self.add_up(gradient)
        norm = clip_and_step(self.optimizer, self.parameters, gradients, weight * self._max_grad_norm)
        return [numbers for _, found in results for numbers in found], norm

    def add_up(self, tensor: Tensor, *, greatest: bool = False) -> Tensor:
        """Sum over all processes, or the maximum, in place."""
        if self.processes > 1:
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
