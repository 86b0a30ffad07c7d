"""Losses of the logits of a large vocabulary, computed for some tokens at a time.

Letters in shapes: N tokens, n those of a chunk, H width of the last hidden states, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn

CHUNK_BYTES: Final = 1 << 27  # of the float32 logits of a chunk
Loss = Callable[[Tensor, slice], tuple[Tensor, Tensor]]


def chunks(count: int, vocabulary: int) -> Iterator[slice]:
    """Parts of ``count`` tokens whose logits have ``CHUNK_BYTES`` at most; at least one token each."""
    size = max(1, CHUNK_BYTES // (4 * vocabulary))
    return (slice(start, start + size) for start in range(0, count, size))


def chunked_loss(hidden: Tensor, head: nn.Module, loss: Loss, vocabulary: int) -> tuple[Tensor, Tensor]:
    """The sum of a loss over all chunks, and the metrics of each chunk [chunks, K].

    The gradients with respect to ``hidden`` and to the head are computed along with the loss, so logits [n, V] live
    only as long as their chunk.

    Args:
        hidden: [N, H]
        head: Logits [n, V] of [n, H].
        loss: Gives the sum of the losses of the tokens of a slice, and metrics [K], from their logits.
        vocabulary: V
    """
    found: list[Tensor] = []
    parameters = [parameter for parameter in head.parameters() if parameter.requires_grad]
    apply: Callable[..., Tensor] = _ChunkedLoss.apply
    total = apply(hidden, head, loss, vocabulary, found, *parameters)
    return total, torch.stack(found)


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        hidden: Tensor,
        head: nn.Module,
        loss: Loss,
        vocabulary: int,
        found: list[Tensor],
        *parameters: Tensor,
    ) -> Tensor:
        gradient = torch.zeros_like(hidden)
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        total = torch.zeros((), device=hidden.device)
        for part in chunks(len(hidden), vocabulary):
            with torch.enable_grad():
                piece = hidden[part].detach().requires_grad_()
                value, metrics = loss(head(piece), part)
                gradient[part], *others = torch.autograd.grad(value, (piece, *parameters))
            for summed, other in zip(sums, others, strict=True):
                summed.add_(other)
            total += value.detach()
            found.append(metrics.detach())
            del value, others
        ctx.save_for_backward(gradient, *sums)
        return total

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        gradient, *sums = ctx.saved_tensors
        return (gradient * above[0], None, None, None, None, *(each * above[0] for each in sums))
