"""Conversations that are being answered: what is new in them is read, then replies are written token by token.

Letters in shapes: R rows, L columns, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from selfplay.policy.language.attention import Columns, lay_out

if TYPE_CHECKING:
    from selfplay.policy.language.conversation import Conversation
    from selfplay.policy.language.model import LanguageModel
    from selfplay.policy.language.store import Store

READ_TOGETHER: Final = 32  # rows; more of them are padded more
ALIKE: Final = 8  # tokens at least that rows must share for one to read for all


@dataclass(slots=True)
class Row:
    """A conversation that is being answered."""

    conversation: Conversation
    slot: int | None  # None: it has no room in the store
    ids: list[int] = field(default_factory=list)  # of the reply
    logprob: list[float] = field(default_factory=list)
    ended: bool = False


@final
class Working:
    """The rows that are being answered, out of the store."""

    def __init__(self, model: LanguageModel, store: Store, rows: Sequence[Row], longest_reply: int) -> None:
        self._model = model
        self._store = store
        known = [store.known(row.slot) for row in rows]
        alike = shared_openings(
            [row.conversation.ids if not columns else [] for row, columns in zip(rows, known, strict=True)]
        )
        for members, length in alike:
            for i in members:
                known[i] = length
        unread = [len(row.conversation.ids) - columns for row, columns in zip(rows, known, strict=True)]
        order = [
            i for _, i in sorted(zip(unread, range(len(rows)), strict=True))
        ]  # read together, they are padded alike
        place = {i: number for number, i in enumerate(order)}
        self._alike = [([place[i] for i in members], length) for members, length in alike]
        self._known = [known[i] for i in order]
        self.rows = [rows[i] for i in order]
        lengths = [len(row.conversation.ids) for row in self.rows]
        self._length = torch.tensor(lengths, device=model.device)
        self._longest = max(lengths)
        self._columns = self._longest + longest_reply + 1  # the last one is for padding
        self._cache = Columns(store.take([row.slot for row in self.rows], self._columns))

    def read(self) -> Tensor:
        """Read what is new in every row; logits [R, V] of the first token of its reply."""
        self._read_openings()
        new = [row.conversation.ids[first:] for row, first in zip(self.rows, self._known, strict=True)]
        logits = [
            self._read(slice(start, start + READ_TOGETHER), new[start : start + READ_TOGETHER])
            for start in range(0, len(self.rows), READ_TOGETHER)
        ]
        return torch.cat(logits)

    def _read_openings(self) -> None:
        """One row of those that begin alike reads for all of them."""
        for start in range(0, len(self._alike), READ_TOGETHER):
            groups = self._alike[start : start + READ_TOGETHER]
            first = torch.tensor([members[0] for members, _ in groups], device=self._model.device)
            cache = Columns([part[first] for part in self._cache.parts])
            pieces = [self.rows[members[0]].conversation.ids[:length] for members, length in groups]
            self._answer(cache, pieces, [0] * len(groups))
            for whole, read in zip(self._cache.parts, cache.parts, strict=True):
                for number, (members, length) in enumerate(groups):
                    whole[members, :length] = read[number, :length]

    def _read(self, rows: slice, new: Sequence[Sequence[int]]) -> Tensor:
        return self._answer(Columns([part[rows] for part in self._cache.parts]), new, self._known[rows])

    def _answer(self, cache: Columns, pieces: Sequence[Sequence[int]], firsts: Sequence[int]) -> Tensor:
        ids, at = lay_out(pieces, firsts, self._columns - 1)
        width = max(first + len(piece) for first, piece in zip(firsts, pieces, strict=True))
        return self._model.answer(cache, ids.to(self._model.device), at.to(self._model.device), width)

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


def shared_openings(rows: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
    """Rows that begin alike: their numbers, and how many tokens they share, never all of any.

    A row joins those that it resembles as long as they go on sharing at least half of what they shared.
    """
    order = sorted((i for i, ids in enumerate(rows) if len(ids) > ALIKE), key=lambda i: list(rows[i]))
    groups: list[tuple[list[int], int]] = []
    for i in order:
        if groups:
            members, length = groups[-1]
            both = min(length, shared(rows[members[-1]], rows[i]))
            if 2 * both >= max(length, 2 * ALIKE):
                groups[-1] = ([*members, i], both)
                continue
        groups.append(([i], len(rows[i]) - 1))
    return [(members, length) for members, length in groups if len(members) > 1]


def shared(before: Sequence[int], now: Sequence[int]) -> int:
    """Tokens that both begin with; never all of what is now to be read."""
    both = zip(before, now[:-1], strict=False)
    return next((i for i, (old, new) in enumerate(both) if old != new), min(len(before), len(now) - 1))
