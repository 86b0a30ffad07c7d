"""Batches of rows of tokens as tensors, padded on the right, and the weights of their tokens.

Letters in shapes: B rows of a micro-batch, T tokens of its longest row, N tokens that train, n those of one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Aggregation: TypeAlias = Literal["constant", "seq-mean", "token-mean"]
F32: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One game from one seat, without the tokens after the last sampled one."""

    ids: NDArray[np.int64]  # [T]
    sampled: NDArray[np.bool_]  # [T] n of them
    logprob: F32  # [n] of the behaviour policy
    advantage: float
    reference: F32 | None = None  # [n] of the reference, if any
    importance: F32 | None = None  # [n] importance weights of samples of a server; None: all 1

    @property
    def tokens(self) -> int:
        return len(self.logprob)


def token_weights(rows: Sequence[TrainingRow], aggregation: Aggregation, row_tokens: int) -> list[float]:
    """The weight of each token of a row in the loss of its batch.

        constant    1 / (rows x row_tokens): independent of the lengths of rows
        seq-mean    1 / (rows x n): every row has the same weight
        token-mean  1 / (tokens of the batch)

    The losses of micro-batches, in any number of processes, sum to the loss of the batch.
    """
    if aggregation == "constant":
        return [1 / (len(rows) * row_tokens)] * len(rows)
    if aggregation == "seq-mean":
        return [1 / (len(rows) * row.tokens) for row in rows]
    return [1 / sum(row.tokens for row in rows)] * len(rows)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A micro-batch. Vectors [N] are in the order of ``where``: row by row, from left to right."""

    ids: Tensor  # int64 [B, T] padded on the right
    where: Tensor  # bool [B, T] tokens that train; never the first of a row
    logprob: Tensor  # float [N]
    advantage: Tensor  # float [N]
    weight: Tensor  # float [N] see ``token_weights``
    reference: Tensor | None  # float [N]
    importance: Tensor | None  # float [N]

    @property
    def taken(self) -> Tensor:
        """[N] the tokens that train."""
        return self.ids[self.where]


def padded(rows: Sequence[TrainingRow], weights: Sequence[float], device: torch.device) -> TokenBatch:
    """A micro-batch. Optional vectors are given for all rows or none."""
    longest = max(len(row.ids) for row in rows)
    ids, where = np.zeros((len(rows), longest), np.int64), np.zeros((len(rows), longest), np.bool_)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = row.ids
        where[i, : len(row.ids)] = row.sampled
    counts = [row.tokens for row in rows]
    return TokenBatch(
        ids=torch.from_numpy(ids).to(device),
        where=torch.from_numpy(where).to(device),
        logprob=_joined((row.logprob for row in rows), device),
        advantage=_joined((np.repeat([row.advantage for row in rows], counts),), device),
        weight=_joined((np.repeat(weights, counts),), device),
        reference=_given((row.reference for row in rows), device),
        importance=_given((row.importance for row in rows), device),
    )


def _joined(parts: Iterable[NDArray[np.floating]], device: torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate(list(parts)).astype(np.float32)).to(device)


def _given(parts: Iterable[F32 | None], device: torch.device) -> Tensor | None:
    """As ``_joined``; None without parts."""
    given = [part for part in parts if part is not None]
    return _joined(given, device) if given else None


def by_length(rows: Sequence[TrainingRow], size: int) -> list[list[int]]:
    """Row numbers in parts of at most ``size``, sorted by length, the longest first."""
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]


def shuffled(rows: Sequence[TrainingRow], size: int, generator: torch.Generator) -> Iterator[list[TrainingRow]]:
    """All rows once in random order, in batches of similar size, at most ``size`` rows each."""
    order = torch.randperm(len(rows), generator=generator)
    for part in torch.tensor_split(order, -(-len(rows) // size)):
        yield [rows[number] for number in part.tolist()]
