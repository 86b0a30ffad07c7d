"""Writes replies with a model in this process: many conversations at once, each token computed once.

What a conversation has read and written stays in a store of keys and values until it is closed. A round takes the
conversations that are to be answered out of the store, reads what is new in them, and writes until the last reply has
ended; rows whose reply has ended leave as soon as half of those at work have.
Letters in shapes: R rows, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from torch import Tensor

from envs.splitmix import words
from selfplay.policy.language.attention import Columns
from selfplay.policy.language.conversation import NO_ROOM, Conversation, Reply
from selfplay.policy.language.sampling import Sampling, log_distribution

if TYPE_CHECKING:
    from selfplay.policy.language.model import LanguageModel

STORE_BYTES: Final = 4 * 2**30  # of keys and values; conversations beyond are read anew in every turn
LEAVE: Final = 0.5  # of the rows at work must have ended until those leave
FIRST_COLUMNS: Final = 128


@dataclass(slots=True)
class _Row:
    """A conversation that is being answered."""

    conversation: Conversation
    slot: int | None
    ids: list[int] = field(default_factory=list)
    logprob: list[float] = field(default_factory=list)
    ended: bool = False


@final
class LocalWriter:
    """A model's conversations (``Writer``). One thread at a time.

    Args:
        model: Its weights may change between two calls only.
        sampling: How.
        rows: Answered at once at most.
    """

    def __init__(self, model: LanguageModel, sampling: Sampling, rows: int = 128) -> None:
        self._model = model
        self._sampling = sampling
        self._rows = rows
        self._store = _Store(model)

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """See ``Writer``."""
        conversation = Conversation(seed)
        conversation.read(self._model.chat.open(system, observation))
        return conversation

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """See ``Writer``."""
        for conversation, ids in zip(conversations, self._model.chat.go_on(observations), strict=True):
            conversation.read(ids)

    @torch.inference_mode()
    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``."""
        longest = self._model.context - self._sampling.max_new_tokens
        fitting = [c for c in conversations if len(c.ids) <= longest]
        fitting.sort(key=self._store.unread)  # rows that are read together are padded to the longest of them
        replies: dict[int, Reply] = {}
        for start in range(0, len(fitting), self._rows):
            replies |= self._round(fitting[start : start + self._rows])
        written = [replies.get(id(c), NO_ROOM) for c in conversations]
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    def close(self, conversations: Sequence[Conversation]) -> None:
        """See ``Writer``."""
        self._store.drop(conversations)

    def _round(self, conversations: list[Conversation]) -> dict[int, Reply]:
        rows = [_Row(c, self._store.slot(c)) for c in conversations]
        working = _Working(self._model, self._store, rows, self._sampling.max_new_tokens)
        logits = working.read()
        for _ in range(self._sampling.max_new_tokens):
            drawn = self._draw(logits, working.rows)
            going_on = sum(not row.ended for row in working.rows)
            if not going_on:
                break
            if going_on <= LEAVE * len(working.rows):
                drawn = working.part(drawn)
            logits = working.step(drawn)
        working.part(None)
        texts = self._model.chat.text_of([row.ids for row in rows])
        return {
            id(row.conversation): Reply(text, row.ids, row.logprob, row.ended)
            for row, text in zip(rows, texts, strict=True)
        }

    def _draw(self, logits: Tensor, rows: list[_Row]) -> Tensor:
        """A token for each row [R], whether or not it has ended; those that go on take theirs."""
        logprobs = log_distribution(logits, self._sampling)
        if self._sampling.greedy:
            drawn = logprobs.argmax(-1)
        else:
            mass = logprobs.exp().cumsum(-1)
            luck = torch.from_numpy(_luck(rows)).to(mass.device)
            drawn = torch.searchsorted(mass, (luck * mass[:, -1])[:, None], right=True)[:, 0]
            drawn = drawn.clamp_(max=mass.shape[1] - 1)
        taken = logprobs.gather(1, drawn[:, None])[:, 0].tolist()
        for row, token, logprob in zip(rows, drawn.tolist(), taken, strict=True):
            if not row.ended:
                row.ids.append(token)
                row.logprob.append(logprob)
                row.ended = token in self._model.chat.ends
        return drawn


def _luck(rows: list[_Row]) -> np.ndarray:
    """Numbers in [0, 1) that follow from the conversation and the place in it, whoever else is answered."""
    seeds = np.array([row.conversation.seed for row in rows], np.uint64)
    places = np.array([len(row.conversation.ids) + len(row.ids) for row in rows], np.uint64)
    return ((words(seeds, places) >> np.uint64(40)).astype(np.float32)) * np.float32(2.0**-24)


@final
class _Store:
    """Keys and values of conversations that go on, [layers, slots, columns, K, D]."""

    def __init__(self, model: LanguageModel) -> None:
        config = model.config
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        parameter = next(model.module.parameters())
        self.dtype, self.device = parameter.dtype, parameter.device
        self._shape = (config.num_hidden_layers, config.num_key_value_heads, head)
        self._slots: dict[int, int] = {}  # by the conversation's id, which is alive as long as it has a slot
        self._known: dict[int, int] = {}  # columns that are there, by slot
        self._alive: dict[int, Conversation] = {}
        self._free: list[int] = []
        self._count = 0
        self.keys, self.values = (self.empty(0, FIRST_COLUMNS) for _ in range(2))

    def empty(self, rows: int, columns: int) -> Tensor:
        """Room for so many conversations."""
        layers, heads, width = self._shape
        return torch.zeros(layers, rows, columns, heads, width, dtype=self.dtype, device=self.device)

    def unread(self, conversation: Conversation) -> int:
        """Tokens of it that are not in the store."""
        slot = self._slots.get(id(conversation))
        return len(conversation.ids) - (0 if slot is None else self._known[slot])

    def known(self, slot: int | None) -> int:
        """Columns of a slot."""
        return 0 if slot is None else self._known[slot]

    def slot(self, conversation: Conversation) -> int | None:
        """Where a conversation is kept; None where there is no room."""
        found = self._slots.get(id(conversation))
        if found is not None:
            return found
        if not self._free and not self._grow():
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

    def keep(self, slots: list[int], keys: Tensor, values: Tensor, known: list[int]) -> None:
        """Put rows back."""
        columns = keys.shape[2]
        if columns > self.keys.shape[2]:
            self._resize(self._count, max(columns, 2 * self.keys.shape[2]))
        at = torch.tensor(slots, device=self.device)
        self.keys[:, at, :columns] = keys
        self.values[:, at, :columns] = values
        self._known.update(zip(slots, known, strict=True))

    def _grow(self) -> bool:
        more = max(64, self._count)
        layers, heads, width = self._shape
        each = 2 * layers * heads * width * self.keys.shape[2] * self.keys.element_size()
        if (self._count + more) * each > STORE_BYTES:
            return False
        self._free.extend(range(self._count, self._count + more))
        self._resize(self._count + more, self.keys.shape[2])
        self._count += more
        return True

    def _resize(self, rows: int, columns: int) -> None:
        for name in ("keys", "values"):
            old, new = getattr(self, name), self.empty(rows, columns)
            new[:, : old.shape[1], : old.shape[2]] = old
            setattr(self, name, new)


@final
class _Working:
    """The rows of a round, out of the store."""

    def __init__(self, model: LanguageModel, store: _Store, rows: list[_Row], longest_reply: int) -> None:
        self._model = model
        self._store = store
        self.rows = rows
        device = store.device
        self._known = [store.known(row.slot) for row in rows]
        self._length = torch.tensor([len(row.conversation.ids) for row in rows], device=device)
        columns = max(len(row.conversation.ids) for row in rows) + longest_reply + 1
        kept = min(columns, store.keys.shape[2])
        slots = torch.tensor([row.slot or 0 for row in rows], device=device)
        keys, values = store.empty(len(rows), columns), store.empty(len(rows), columns)
        if store.keys.shape[1]:
            keys[:, :, :kept] = store.keys[:, slots, :kept]
            values[:, :, :kept] = store.values[:, slots, :kept]
        self._cache = Columns(keys, values)
        self._at = torch.arange(columns, device=device)

    def read(self) -> Tensor:
        """Read what is new in every row; logits [R, V] of the first token of its reply."""
        new = [row.conversation.ids[known:] for row, known in zip(self.rows, self._known, strict=True)]
        longest = max(map(len, new))
        # Padded in front, into a column that nobody sees: so the last token of all rows is in one place.
        trash = self._cache.keys.shape[2] - 1
        ids = torch.tensor([[0] * (longest - len(part)) + part for part in new], device=self._store.device)
        at = torch.tensor(
            [
                [trash] * (longest - len(part)) + list(range(known, known + len(part)))
                for part, known in zip(new, self._known, strict=True)
            ],
            device=self._store.device,
        )
        return self._forward(ids, at)

    def step(self, drawn: Tensor) -> Tensor:
        """Read one token in every row; logits [R, V] of the next."""
        self._length += 1
        return self._forward(drawn[:, None], self._length[:, None] - 1)

    def part(self, drawn: Tensor | None) -> Tensor:
        """Rows that have ended, or all, go back into the store; what was drawn for those that stay."""
        stays = [drawn is not None and not row.ended for row in self.rows]
        leaving = [i for i, stay in enumerate(stays) if not stay]
        kept = [i for i in leaving if self.rows[i].slot is not None]
        if kept:
            at = torch.tensor(kept, device=self._store.device)
            # The last token of a reply was drawn, and not read.
            known = [len(self.rows[i].conversation.ids) + len(self.rows[i].ids) - 1 for i in kept]
            width = max(known)
            keys, values = self._cache.keys[:, at, :width], self._cache.values[:, at, :width]
            self._store.keep([self.rows[i].slot or 0 for i in kept], keys, values, known)
        if drawn is None:
            return self._length
        staying = torch.tensor([i for i, stay in enumerate(stays) if stay], device=self._store.device)
        self.rows = [row for row, stay in zip(self.rows, stays, strict=True) if stay]
        self._length = self._length[staying]
        self._cache = Columns(self._cache.keys[:, staying], self._cache.values[:, staying])
        return drawn[staying]

    def _forward(self, ids: Tensor, at: Tensor) -> Tensor:
        width = int(self._length.max())
        seen = self._at[:width][None, None, None] <= at[:, None, :, None]
        self._cache.place(at, width)
        out = self._model.module(
            input_ids=ids, attention_mask=seen, position_ids=at.clamp(max=self._model.context - 1),
            past_key_values=self._cache, use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        return out.logits[:, -1]
