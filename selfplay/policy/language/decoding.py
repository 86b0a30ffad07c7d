"""Decoding of a batch of conversations: read their new tokens, then generate replies token by token.

Letters in shapes: R rows, L columns, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from selfplay.policy.language.attention import ColumnCache, pad_left

if TYPE_CHECKING:
    from selfplay.policy.language.conversation import Conversation
    from selfplay.policy.language.kv_store import KVStore
    from selfplay.policy.language.model import LanguageModel

PREFILL_ROWS: Final = 32  # per forward pass; more rows need more padding
MIN_PREFIX: Final = 8  # shared tokens that make it worth to read a prefix once


@dataclass(slots=True)
class DecodingRow:
    """A conversation with the reply that is being generated."""

    conversation: Conversation
    slot: int | None  # None: the store is full
    ids: list[int] = field(default_factory=list)  # of the reply
    logprob: list[float] = field(default_factory=list)
    ended: bool = False


@final
class DecodingBatch:
    """A batch of rows, with their keys and values from the store."""

    def __init__(
        self,
        model: LanguageModel,
        store: KVStore,
        rows: Sequence[DecodingRow],
        longest_reply: int,
        tick: Callable[[], object],
    ) -> None:
        self._model = model
        self._store = store
        self._tick = tick
        known = [store.known(row.slot) for row in rows]
        prefixes = shared_prefixes(
            [row.conversation.ids if not columns else [] for row, columns in zip(rows, known, strict=True)]
        )
        for members, length in prefixes:
            for i in members:
                known[i] = length
        # By the number of unread tokens: rows of one forward pass then need little padding.
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].conversation.ids) - known[i])
        place = {i: number for number, i in enumerate(order)}
        self._prefixes = [([place[i] for i in members], length) for members, length in prefixes]
        self._known = [known[i] for i in order]
        self.rows = [rows[i] for i in order]
        lengths = [len(row.conversation.ids) for row in self.rows]
        self._length = torch.tensor(lengths, device=model.device)
        self._longest = max(lengths)
        self._columns = self._longest + longest_reply + 1  # the last one is for padding
        self._cache = ColumnCache(store.take([row.slot for row in self.rows], self._columns), tick)

    def read(self) -> Tensor:
        """Read the new tokens of every row; logits [R, V] of the first token of its reply."""
        self._read_prefixes()
        new = [row.conversation.ids[first:] for row, first in zip(self.rows, self._known, strict=True)]
        logits = []
        for start in range(0, len(self.rows), PREFILL_ROWS):
            rows = slice(start, start + PREFILL_ROWS)
            cache = ColumnCache([part[rows] for part in self._cache.parts], self._tick)
            logits.append(self._forward(cache, new[rows], self._known[rows]))
        return torch.cat(logits)

    def _read_prefixes(self) -> None:
        """Read each shared prefix once, and copy it to the other rows."""
        for start in range(0, len(self._prefixes), PREFILL_ROWS):
            groups = self._prefixes[start : start + PREFILL_ROWS]
            first = torch.tensor([members[0] for members, _ in groups], device=self._model.device)
            cache = ColumnCache([part[first] for part in self._cache.parts], self._tick)
            pieces = [self.rows[members[0]].conversation.ids[:length] for members, length in groups]
            self._forward(cache, pieces, [0] * len(groups))
            for whole, read in zip(self._cache.parts, cache.parts, strict=True):
                for number, (members, length) in enumerate(groups):
                    whole[members, :length] = read[number, :length]

    def _forward(self, cache: ColumnCache, pieces: Sequence[Sequence[int]], firsts: Sequence[int]) -> Tensor:
        ids, at = pad_left(pieces, firsts, self._columns - 1)
        width = max(first + len(piece) for first, piece in zip(firsts, pieces, strict=True))
        return self._model.next_logits(cache, ids.to(self._model.device), at.to(self._model.device), width)

    def step(self, drawn: Tensor) -> Tensor:
        """Read one token per row; logits [R, V] of the next."""
        at = self._length[:, None]
        self._length = self._length + 1
        self._longest += 1
        return self._model.next_logits(self._cache, drawn[:, None], at, self._longest)

    def drop_ended(self, drawn: Tensor) -> Tensor:
        """Move rows that have ended back into the store; returns the drawn tokens of the others."""
        self._put_back([i for i, row in enumerate(self.rows) if row.ended])
        stays = [i for i, row in enumerate(self.rows) if not row.ended]
        at = torch.tensor(stays, device=self._model.device)
        self.rows = [self.rows[i] for i in stays]
        self._length = self._length[at]
        self._longest = max(len(row.conversation.ids) + len(row.ids) for row in self.rows) - 1
        self._cache = ColumnCache([part[at] for part in self._cache.parts], self._tick)
        return drawn[at]

    def finish(self) -> None:
        self._put_back(list(range(len(self.rows))))

    def _put_back(self, leaving: list[int]) -> None:
        kept = [(i, slot) for i in leaving if (slot := self.rows[i].slot) is not None]
        if not kept:
            return
        # The last token of a reply was drawn, but not read.
        known = [len(self.rows[i].conversation.ids) + len(self.rows[i].ids) - 1 for i, _ in kept]
        at = torch.tensor([i for i, _ in kept], device=self._model.device)
        rows = [part[at, : max(known)] for part in self._cache.parts]
        self._store.keep([slot for _, slot in kept], rows, known)


def shared_prefixes(rows: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
    """Groups of rows with a common prefix: their numbers, and its length, always less than each row's.

    A row joins a group if the common prefix stays at least half as long.
    """
    order = sorted((i for i, ids in enumerate(rows) if len(ids) > MIN_PREFIX), key=lambda i: list(rows[i]))
    groups: list[tuple[list[int], int]] = []
    for i in order:
        if groups:
            members, length = groups[-1]
            both = min(length, shared(rows[members[-1]], rows[i]))
            if 2 * both >= max(length, 2 * MIN_PREFIX):
                groups[-1] = ([*members, i], both)
                continue
        groups.append(([i], len(rows[i]) - 1))
    return [(members, length) for members, length in groups if len(members) > 1]


def shared(before: Sequence[int], now: Sequence[int]) -> int:
    """Length of the common prefix, less than the length of ``now``."""
    both = zip(before, now[:-1], strict=False)
    return next((i for i, (old, new) in enumerate(both) if old != new), min(len(before), len(now) - 1))
