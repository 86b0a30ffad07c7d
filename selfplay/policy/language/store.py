"""Keys and values of many conversations: those that wait, and those that are being answered.

Letters in shapes: R rows, L columns, K heads, D their width, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from selfplay.policy.language.attention import Columns, lay_out
from selfplay.policy.language.probing import empty

if TYPE_CHECKING:
    from selfplay.policy.language.conversation import Conversation
    from selfplay.policy.language.model import LanguageModel

STORE_BYTES: Final = 4 * 2**30  # of keys and values; what does not fit is read anew in every turn
FIRST_SLOTS, FIRST_COLUMNS = 64, 128


@dataclass(slots=True)
class Row:
    """A conversation that is being answered."""

    conversation: Conversation
    slot: int | None  # None: it has no room in the store
    ids: list[int] = field(default_factory=list)  # of the reply
    logprob: list[float] = field(default_factory=list)
    ended: bool = False


@final
class Store:
    """Of conversations that go on, [slots, L, K, D] for keys and values of each layer.

    Args:
        model: Whose.
        limit: Bytes; the store never outgrows it. Conversations without a slot, and columns beyond the last, are not
            kept.
    """

    def __init__(self, model: LanguageModel, limit: int = STORE_BYTES) -> None:
        self._model = model
        self._limit = limit
        self._slots: dict[int, int] = {}  # by the conversation's id, which is alive as long as it has a slot
        self._known: dict[int, int] = {}  # columns that are there, by slot
        self._alive: dict[int, Conversation] = {}
        self._free: list[int] = []
        self._parts = self.empty(0, FIRST_COLUMNS)

    def empty(self, rows: int, columns: int) -> list[Tensor]:
        """Room for so many conversations."""
        return empty(self._model.parts, rows, columns, self._model.device)

    def unread(self, conversation: Conversation) -> int:
        """Tokens of it that are not in the store."""
        return len(conversation.ids) - self.known(self._slots.get(id(conversation)))

    def known(self, slot: int | None) -> int:
        """Columns of a slot."""
        return 0 if slot is None else self._known[slot]

    def slot(self, conversation: Conversation) -> int | None:
        """Where a conversation is kept; None where there is no room."""
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
        """Forget them."""
        for conversation in conversations:
            slot = self._slots.pop(id(conversation), None)
            if slot is not None:
                del self._alive[id(conversation)]
                self._free.append(slot)

    def cut(self, conversation: Conversation, length: int) -> None:
        """Forget of it what comes after so many tokens."""
        slot = self._slots.get(id(conversation))
        if slot is not None:
            self._known[slot] = min(self._known[slot], length)

    def take(self, slots: Sequence[int | None], columns: int) -> list[Tensor]:
        """Copies of rows, [R, L, K, D] each, so many columns wide; whatever where there is no slot."""
        taken = self.empty(len(slots), columns)
        kept = min(columns, self._columns, max(map(self.known, slots)))
        if kept:
            at = torch.tensor([slot or 0 for slot in slots], device=self._model.device)
            for new, old in zip(taken, self._parts, strict=True):
                new[:, :kept] = old[at, :kept]
        return taken

    def keep(self, slots: Sequence[int], rows: Sequence[Tensor], known: Sequence[int]) -> None:
        """Put rows [R, L, K, D] back, of which so many columns are known."""
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
        """Whether there was room for it."""
        each = sum(part.heads * part.width * part.dtype.itemsize for part in self._model.parts)
        if rows * columns * each > self._limit:
            return False
        self._free.extend(range(self._count, rows))
        for i, (old, new) in enumerate(zip(self._parts, self.empty(rows, columns), strict=True)):
            new[: old.shape[0], : old.shape[1]] = old
            self._parts[i] = new
        return True


@final
class Working:
    """The rows that are being answered, out of the store."""

    def __init__(self, model: LanguageModel, store: Store, rows: list[Row], longest_reply: int) -> None:
        self._model = model
        self._store = store
        self.rows = rows
        lengths = [len(row.conversation.ids) for row in rows]
        self._length = torch.tensor(lengths, device=model.device)
        self._longest = max(lengths)
        self._columns = self._longest + longest_reply + 1  # the last one is for padding
        self._cache = Columns(store.take([row.slot for row in rows], self._columns))

    def read(self) -> Tensor:
        """Read what is new in every row; logits [R, V] of the first token of its reply."""
        known = [self._store.known(row.slot) for row in self.rows]
        new = [row.conversation.ids[first:] for row, first in zip(self.rows, known, strict=True)]
        ids, at = lay_out(new, known, self._columns - 1)
        return self._model.answer(self._cache, ids.to(self._model.device), at.to(self._model.device), self._longest)

    def step(self, drawn: Tensor) -> Tensor:
        """Read one token in every row; logits [R, V] of the next."""
        at = self._length[:, None]
        self._length = self._length + 1
        self._longest += 1
        return self._model.answer(self._cache, drawn[:, None], at, self._longest)

    def part(self, drawn: Tensor) -> Tensor:
        """Rows that have ended go back into the store; what was drawn for those that stay."""
        self._put_back([i for i, row in enumerate(self.rows) if row.ended])
        stays = [i for i, row in enumerate(self.rows) if not row.ended]
        at = torch.tensor(stays, device=self._model.device)
        self.rows = [self.rows[i] for i in stays]
        self._length = self._length[at]
        self._longest = max(len(row.conversation.ids) + len(row.ids) for row in self.rows) - 1
        self._cache = Columns([part[at] for part in self._cache.parts])
        return drawn[at]

    def finish(self) -> None:
        """All rows go back into the store."""
        self._put_back(list(range(len(self.rows))))

    def _put_back(self, leaving: list[int]) -> None:
        kept = [(i, slot) for i in leaving if (slot := self.rows[i].slot) is not None]
        if not kept:
            return
        # The last token of a reply was drawn, and not read.
        known = [len(self.rows[i].conversation.ids) + len(self.rows[i].ids) - 1 for i, _ in kept]
        at = torch.tensor([i for i, _ in kept], device=self._model.device)
        rows = [part[at, : max(known)] for part in self._cache.parts]
        self._store.keep([slot for _, slot in kept], rows, known)
