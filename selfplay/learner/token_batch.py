"""Batches of rows of tokens as tensors, padded or packed, and the weights of their tokens.

Letters in shapes: B rows of a micro-batch, T tokens of its longest row, N tokens that train, n those of one row,
M packed tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Aggregation: TypeAlias = Literal["constant", "seq-mean", "token-mean"]
F32: TypeAlias = NDArray[np.float32]
LEAST_SHARED: Final = 0.25
MOST_PLACES: Final = 2  # padded places of a micro-batch, which attention needs, per packed token


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
class Targets:
    """The tokens that train, row by row, from left to right."""

    taken: Tensor  # int64 [N] the tokens
    logprob: Tensor  # float [N]
    advantage: Tensor  # float [N]
    weight: Tensor  # float [N] see ``token_weights``
    reference: Tensor | None = None  # float [N]
    importance: Tensor | None = None  # float [N]

    def __getitem__(self, part: slice) -> Targets:
        vectors: dict[str, Tensor | None] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: vector[part] for name, vector in vectors.items() if vector is not None})


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Some rows of a packed micro-batch, for attention. Both are padded on the right with 0."""

    queries: Tensor  # int64 [B, S] packed tokens of each row that are not those of the row before
    keys: Tensor  # int64 [B, T - 1] all packed tokens of each row
    at: Tensor | None  # int64 [B, S] position of each query; None: queries are keys


@dataclass(frozen=True, slots=True)
class Packed:
    """The inputs of a micro-batch as one sequence. Tokens that neighbouring rows begin with are in it once."""

    ids: Tensor  # int64 [M]
    at: Tensor  # int64 [M] position in its row
    rows: tuple[PackedRows, ...]  # one or two
    place: Tensor  # int64 [M] place of each token among all queries, flattened
    before: Tensor  # int64 [N] packed token before each token that trains


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A micro-batch."""

    ids: Tensor  # int64 [B, T] padded on the right
    where: Tensor  # bool [B, T] tokens that train; never the first of a row
    packed: Packed
    targets: Targets


def padded(rows: Sequence[TrainingRow], weights: Sequence[float], device: torch.device) -> TokenBatch:
    """A micro-batch. Optional vectors are given for all rows or none."""
    longest = max(len(row.ids) for row in rows)
    ids, where = np.zeros((len(rows), longest), np.int64), np.zeros((len(rows), longest), np.bool_)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = row.ids
        where[i, : len(row.ids)] = row.sampled
    counts = [row.tokens for row in rows]
    targets = Targets(
        taken=torch.from_numpy(ids[where]).to(device),
        logprob=_joined((row.logprob for row in rows), device),
        advantage=_joined((np.repeat([row.advantage for row in rows], counts),), device),
        weight=_joined((np.repeat(weights, counts),), device),
        reference=_given((row.reference for row in rows), device),
        importance=_given((row.importance for row in rows), device),
    )
    return TokenBatch(torch.from_numpy(ids).to(device), torch.from_numpy(where).to(device), pack(rows, device), targets)


def pack(rows: Sequence[TrainingRow], device: torch.device) -> Packed:
    """Pack rows; see ``Packed``."""
    inputs = [row.ids[:-1] for row in rows]
    kept = [0, *(shared_length(one, other) for one, other in pairwise(inputs))]
    news = [np.arange(shared, len(ids)) for ids, shared in zip(inputs, kept, strict=True)]
    tokens: list[NDArray[np.int64]] = []  # packed tokens of each row
    count = 0
    for new, shared in zip(news, kept, strict=True):
        tokens.append(np.concatenate([tokens[-1][:shared] if shared else new[:0], count + new - shared]))
        count += len(new)
    place, offset, groups = np.zeros(count, np.int64), 0, []
    for alone in (True, False):  # rows that share nothing are the simple case of attention
        numbers = [number for number, shared in enumerate(kept) if (shared == 0) == alone]
        if numbers:
            queries = _padded([tokens[number][kept[number] :] for number in numbers])
            for i, number in enumerate(numbers):
                own = tokens[number][kept[number] :]
                place[own] = offset + i * queries.shape[1] + np.arange(len(own))
            offset += queries.size
            at = None if alone else torch.from_numpy(_padded([news[number] for number in numbers])).to(device)
            keys = queries if alone else _padded([tokens[number] for number in numbers])
            groups.append(PackedRows(torch.from_numpy(queries).to(device), torch.from_numpy(keys).to(device), at))
    before = [those[np.flatnonzero(row.sampled) - 1] for those, row in zip(tokens, rows, strict=True)]
    ids = np.concatenate([each[new] for each, new in zip(inputs, news, strict=True)])
    found = (ids, np.concatenate(news), place, np.concatenate(before))
    ids_, at_, place_, before_ = (torch.from_numpy(each).to(device) for each in found)
    return Packed(ids_, at_, tuple(groups), place_, before_)


def _padded(rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    made = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for place, row in zip(made, rows, strict=True):
        place[: len(row)] = row
    return made


def shared_length(one: NDArray[np.integer], other: NDArray[np.integer]) -> int:
    """Number of tokens that both begin with; 0 if they are less than ``LEAST_SHARED`` of the other."""
    least = min(len(one), len(other))
    apart = np.flatnonzero(one[:least] != other[:least])
    found = int(apart[0]) if len(apart) else least
    return found if found >= LEAST_SHARED * len(other) else 0


def _joined(parts: Iterable[NDArray[np.floating]], device: torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate(list(parts)).astype(np.float32)).to(device)


def _given(parts: Iterable[F32 | None], device: torch.device) -> Tensor | None:
    """As ``_joined``; None without parts."""
    given = [part for part in parts if part is not None]
    return _joined(given, device) if given else None


def micro_batches(rows: Sequence[TrainingRow], tokens: int, parts: int = 1, most_rows: int = 0) -> list[list[int]]:
    """Row numbers in parts of at most ``tokens`` packed tokens, and ``most_rows`` rows unless 0.

    Rows that begin alike are neighbours. There are at least ``parts`` parts of about the same size if there are enough
    rows; a part has one row at least. The padded places of a part are at most ``MOST_PLACES * tokens``.
    """
    order = _alike(rows)
    kept = [0, *(shared_length(rows[one].ids, rows[other].ids) for one, other in pairwise(order))][: len(order)]
    news = [len(rows[number].ids) - shared for number, shared in zip(order, kept, strict=True)]
    share = max(1, -(-sum(news) // parts))  # of one part, without the beginning that its first row shares with another
    found: list[list[int]] = []
    own = count = longest = 0  # of the last part: new tokens, packed tokens, tokens of its longest row
    for number, new in zip(order, news, strict=True):
        length = len(rows[number].ids)
        wider = max(longest, length)
        full = own + new > share or count + new > tokens
        if not found or full or (len(found[-1]) + 1) * wider > MOST_PLACES * tokens or len(found[-1]) == most_rows:
            found.append([])
            own, count, wider = 0, length - new, length
        found[-1].append(number)
        own, count, longest = own + new, count + new, wider
    return found


def _alike(rows: Sequence[TrainingRow]) -> list[int]:
    """Row numbers so that rows that begin alike are neighbours, and rows of similar length are near each other."""
    order = sorted(range(len(rows)), key=lambda number: rows[number].ids.tolist())
    families: list[list[int]] = []
    for number in order:
        ids = rows[number].ids
        if families and shared_length(rows[families[-1][-1]].ids, ids):
            families[-1].append(number)
        else:
            families.append([number])
    families.sort(key=lambda family: -max(len(rows[number].ids) for number in family))
    return list(chain.from_iterable(families))


def shuffled(rows: Sequence[TrainingRow], size: int, generator: torch.Generator) -> Iterator[list[TrainingRow]]:
    """All rows once in random order, in batches of similar size, at most ``size`` rows each."""
    order = torch.randperm(len(rows), generator=generator)
    for part in torch.tensor_split(order, -(-len(rows) // size)):
        yield [rows[number] for number in part.tolist()]
