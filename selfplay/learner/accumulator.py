"""One optimiser step from the micro-batches of a batch, over the threads and the processes that share them.

Micro-batches are dealt out in turn: to processes, then to the threads of each. Every share sums its own gradients, and
sums are added in a fixed order, so a step depends on neither number but by rounding. A loss must therefore be a share
of its batch's, by weights that belong to the batch (``dialogue_batch.token_weights``), never a mean of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, distributed

from selfplay.learner.stepper import descend

if TYPE_CHECKING:
    from torch import nn

Micro = TypeVar("Micro")
Result = TypeVar("Result")


def adamw(network: nn.Module, learning_rate: float, weight_decay: float, eps: float) -> torch.optim.AdamW:
    """For the parameters of a network that require a gradient (Loshchilov & Hutter 2019)."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(parameters, learning_rate, eps=eps, weight_decay=weight_decay, fused=fused)


class Accumulator:
    """Owns the worker threads of one optimiser. ``step`` blocks.

    Where ``torch.distributed`` is set up, every process makes the same calls with the same arguments, and works at its
    share. All begin with the trained parameters of the first.
    """

    def __init__(self, optimizer: torch.optim.AdamW, max_grad_norm: float, threads: int) -> None:
        self.optimizer = optimizer
        self.parameters: list[Tensor] = optimizer.param_groups[0]["params"]
        self.device = self.parameters[0].device
        self._max_grad_norm = max_grad_norm
        self._threads = threads if self.device.type == "cpu" else 1
        self._pool = ThreadPoolExecutor(self._threads, "learner", initializer=torch.set_num_threads, initargs=(1,))
        together = distributed.is_available() and distributed.is_initialized()
        self.processes = distributed.get_world_size() if together else 1
        self.process = distributed.get_rank() if together else 0
        if together:
            for parameter in self.parameters:
                distributed.broadcast(parameter.data, 0)

    def map(self, items: Sequence[Micro], function: Callable[[Micro], Result]) -> list[tuple[Micro, Result]]:
        """What a function gives for those of the items that this process has, without gradients."""

        def each(item: Micro) -> tuple[Micro, Result]:
            with torch.no_grad():
                return item, function(item)

        return list(self._pool.map(each, items[self.process :: self.processes]))

    def step(
        self, micros: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]]
    ) -> tuple[list[Tensor], Tensor]:
        """Gradients of all micro-batches, summed, clipped, applied unless they are not finite.

        Args:
            micros: of the whole batch, of all processes.
            loss: of a micro-batch, its share of the batch's; and numbers [K] about it.

        Returns:
            The numbers of the micro-batches of this process; and the norm of the gradient before it was clipped.
        """
        mine = micros[self.process :: self.processes]
        shares = [mine[thread :: self._threads] for thread in range(self._threads)]
        results = [
            future.result() for future in [self._pool.submit(self._sum, share, loss) for share in shares if share]
        ]
        gradients = results[0][0] if results else [torch.zeros_like(parameter) for parameter in self.parameters]
        for more, _ in results[1:]:
            torch._foreach_add_(gradients, more)
        for gradient in gradients:
            self.add_up(gradient)
        norm = descend(self.optimizer, self.parameters, gradients, self._max_grad_norm)
        return [numbers for _, found in results for numbers in found], norm

    def add_up(self, tensor: Tensor, *, greatest: bool = False) -> Tensor:
        """The sum of what all processes have, or the greatest, in place."""
        if self.processes > 1:
            distributed.all_reduce(tensor, distributed.ReduceOp.MAX if greatest else distributed.ReduceOp.SUM)
        return tensor

    def close(self) -> None:
        """Let the worker threads go."""
        self._pool.shutdown()

    def _sum(
        self, share: Sequence[Micro], loss: Callable[[Micro], tuple[Tensor, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Gradients of the micro-batches of one thread, one after the other, and their numbers."""
        total = [torch.zeros_like(parameter) for parameter in self.parameters]
        numbers = []
        for micro in share:
            value, found = loss(micro)
            numbers.append(found)
            torch._foreach_add_(
                total, torch.autograd.grad(value, self.parameters, allow_unused=True, materialize_grads=True)
            )
        return total, numbers
