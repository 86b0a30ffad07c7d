"""Keys and values of open conversations between their turns.

Letters in shapes: R rows, L columns, K heads, D their width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from selfplay.policy.language.cache_check import empty_cache

if TYPE_CHECKING:
    from selfplay.policy.language.conversation import Conversation
    from selfplay.policy.language.model import LanguageModel

STORE_BYTES: Final = 4 * 2**30  # conversations that do not fit are read again in every turn
FIRST_SLOTS, FIRST_COLUMNS = 64, 128


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
        each = sum(part.heads * part.width * part.dtype.itemsize for part in self._model.parts)
        if rows * columns * each > self._limit:
            return False
        self._free.extend(range(self._count, rows))
        for i, (old, new) in enumerate(zip(self._parts, empty_cache(self._model, rows, columns), strict=True)):
            new[: old.shape[0], : old.shape[1]] = old
            self._parts[i] = new
        return True
