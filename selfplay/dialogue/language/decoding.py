"""Decoding of a batch of conversations: read their new tokens, then generate replies token by token.

Between their turns, keys and values of open conversations are in a store.
Letters in shapes: R rows, L columns, K heads, D their width, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from selfplay.dialogue.language.attention import ColumnCache, empty_cache, pad_left

if TYPE_CHECKING:
    from selfplay.dialogue.language.attention import CacheShape
    from selfplay.dialogue.language.conversation import Conversation
    from selfplay.dialogue.language.model import LanguageModel

PREFILL_ROWS: Final = 32  # per forward pass; more rows need more padding
MIN_PREFIX: Final = 8  # shared tokens that make it worth to read a prefix once
MOST_ROWS, LEAST_ROWS = 256, 128
SMALL_CACHE: Final = 4096  # bytes per token
STORE_BYTES: Final = 4 * 2**30  # conversations that do not fit are read again in every turn
FIRST_SLOTS, FIRST_COLUMNS = 64, 128


def rows_at_once(token_bytes: int) -> int:
    """Conversations of a batch, by the size of the keys and values of a token: small models lose less by waiting."""
    return MOST_ROWS if token_bytes <= SMALL_CACHE else LEAST_ROWS


def bytes_of_token(parts: Sequence[CacheShape]) -> int:
    """Size of the keys and values of a token in all layers."""
    return sum(part.heads * part.width * part.dtype.itemsize for part in parts)


@final
class KVStore:
    """Keys and values of each layer, [slots, L, K, D], of at most ``limit`` bytes.

    Conversations without a slot, and columns beyond the last, are not kept.
    """

    def __init__(self, model: LanguageModel, limit: int = STORE_BYTES) -> None:
        self._model = model
        self._limit = limit
        self._slots: dict[int, int] = {}  # by ``id`` of the conversation
        self._known: dict[int, int] = {}  # valid columns by slot
        self._alive: dict[int, Conversation] = {}  # keeps the ids unique
        self._free: list[int] = []
        self._parts = empty_cache(model, 0, FIRST_COLUMNS)

    def unread(self, conversation: Conversation) -> int:
        """Number of its tokens that are not in the store."""
        return len(conversation.ids) - self.known(self._slots.get(id(conversation)))

    def known(self, slot: int | None) -> int:
        return 0 if slot is None else self._known[slot]

    def slot(self, conversation: Conversation) -> int | None:
        """The slot of a conversation; None if the store is full."""
        found = self._slots.get(id(conversation))
        if found is not None:
            return found
        if not self._free and not self._resize(max(FIRST_SLOTS, 2 * self._count), self._columns):
            return None
        slot = self._free.pop()
        self._slots[id(conversation)] = slot
        self._alive[id(conversation)] = conversation
        self._known[slot] = 0
        return slot

    def drop(self, conversations: Sequence[Conversation]) -> None:
        for conversation in conversations:
            slot = self._slots.pop(id(conversation), None)
            if slot is not None:
                del self._alive[id(conversation)]
                self._free.append(slot)

    def cut(self, conversation: Conversation, length: int) -> None:
        """Invalidate its columns after the first ``length``."""
        slot = self._slots.get(id(conversation))
        if slot is not None:
            self._known[slot] = min(self._known[slot], length)

    def take(self, slots: Sequence[int | None], columns: int) -> list[Tensor]:
        """Copies of slots as rows [R, L, K, D] with L = ``columns``; undefined without a slot."""
        taken = empty_cache(self._model, len(slots), columns)
        kept = min(columns, self._columns, max(map(self.known, slots)))
        if kept:
            at = torch.tensor([slot or 0 for slot in slots], device=self._model.device)
            for new, old in zip(taken, self._parts, strict=True):
                new[:, :kept] = old[at, :kept]
        return taken

    def keep(self, slots: Sequence[int], rows: Sequence[Tensor], known: Sequence[int]) -> None:
        """Copy rows [R, L, K, D] back into slots; ``known`` are their valid columns."""
        wanted = max(known)
        if wanted > self._columns and not self._resize(self._count, max(wanted, 2 * self._columns)):
            self._resize(self._count, wanted)
        columns = min(wanted, self._columns)
        at = torch.tensor(slots, device=self._model.device)
        for old, new in zip(self._parts, rows, strict=True):
            old[at, :columns] = new[:, :columns]
        self._known.update(zip(slots, (min(each, columns) for each in known), strict=True))

    @property
    def _count(self) -> int:
        return self._parts[0].shape[0]

    @property
    def _columns(self) -> int:
        return self._parts[0].shape[1]

    def _resize(self, rows: int, columns: int) -> bool:
        """Grow; returns whether the limit allows it."""
        if rows * columns * bytes_of_token(self._model.parts) > self._limit:
            return False
        self._free.extend(range(self._count, rows))
        for i, (old, new) in enumerate(zip(self._parts, empty_cache(self._model, rows, columns), strict=True)):
            new[: old.shape[0], : old.shape[1]] = old
            self._parts[i] = new
        return True


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
