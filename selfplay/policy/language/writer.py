"""Writes replies with a model in this process: many conversations at once, each token computed once.

What a conversation has read and written stays in a store of keys and values until it is closed. A round takes the
conversations that are to be answered out of the store, reads what is new in them, and writes until the last reply has
ended; rows whose reply has ended leave as soon as enough of those at work have.
Letters in shapes: R rows, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.splitmix import words
from selfplay.policy.language.conversation import NO_ROOM, Conversation, Reply, begin, proceed
from selfplay.policy.language.sampling import Sampling, log_distribution
from selfplay.policy.language.store import STORE_BYTES, Store
from selfplay.policy.language.working import Row, Working, shared

if TYPE_CHECKING:
    from selfplay.policy.language.model import LanguageModel

LEAVE: Final = 0.75  # share of the rows at work that may go on, when those that have ended leave


@final
class LocalWriter:
    """A model's conversations (``Writer``). One thread at a time.

    Args:
        model: Its weights may change only while no conversation is open.
        sampling: How.
        rows: Answered at once at most.
        leave: See ``LEAVE``.
        store_bytes: Of keys and values of conversations that go on.
    """

    def __init__(
        self,
        model: LanguageModel,
        sampling: Sampling,
        rows: int = 128,
        leave: float = LEAVE,
        store_bytes: int = STORE_BYTES,
    ) -> None:
        self._model = model
        self._sampling = sampling
        self._rows = rows
        self._leave = leave
        self._store = Store(model, store_bytes)

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """See ``Writer``."""
        return begin(self._model.chat, seed, system, observation)

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """See ``Writer``."""
        proceed(self._model.chat, conversations, observations)
        for conversation in conversations:
            if conversation.before:  # what the new row shares with the one before it need not be read again
                self._store.cut(conversation, shared(conversation.before[-1][0], conversation.ids))

    @torch.inference_mode()
    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``."""
        longest = self._model.context - self._sampling.max_new_tokens
        fitting = [c for c in conversations if len(c.ids) <= longest]
        fitting.sort(key=self._store.unread)  # so that rows of a round have about as much to read
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
        rows = [Row(c, self._store.slot(c)) for c in conversations]
        working = Working(self._model, self._store, rows, self._sampling.max_new_tokens)
        logits = working.read()
        for left in range(self._sampling.max_new_tokens, 0, -1):
            drawn = self._draw(logits, working.rows)
            going_on = sum(not row.ended for row in working.rows)
            if left == 1 or not going_on:
                break
            if going_on <= self._leave * len(working.rows):
                drawn = working.part(drawn)
            logits = working.step(drawn)
        working.finish()
        texts = self._model.chat.text_of([row.ids for row in rows])
        return {
            id(row.conversation): Reply(text, row.ids, row.logprob, row.ended)
            for row, text in zip(rows, texts, strict=True)
        }

    def _draw(self, logits: Tensor, rows: list[Row]) -> Tensor:
        """A token for each row [R], whether or not it has ended; those that go on take theirs."""
        logprobs = log_distribution(logits, self._sampling)
        if self._sampling.greedy:
            drawn = logprobs.argmax(-1)
        else:
            mass = logprobs.exp().cumsum(-1, dtype=torch.float64)
            whole = mass[:, -1:]
            luck = torch.from_numpy(_luck(rows)).to(mass.device)[:, None] * whole
            # Below the whole even when rounded, so that the token found has a probability.
            drawn = torch.searchsorted(mass, torch.minimum(luck, whole * (1 - 2**-50)), right=True)[:, 0]
        taken = logprobs.gather(1, drawn[:, None])[:, 0].tolist()
        ends = self._model.chat.ends
        for row, token, logprob in zip(rows, drawn.tolist(), taken, strict=True):
            if not row.ended:
                row.ids.append(token)
                row.logprob.append(logprob)
                row.ended = token in ends
        return drawn


def _luck(rows: list[Row]) -> NDArray[np.float64]:
    """Numbers in [0, 1) that follow from the conversation and the place in it, whoever else is answered."""
    seeds = np.array([row.conversation.seed for row in rows], np.uint64)
    places = np.array(
        [(len(row.conversation.before) << 32) + len(row.conversation.ids) + len(row.ids) for row in rows], np.uint64
    )
    return (words(seeds, places) >> np.uint64(11)).astype(np.float64) * 2.0**-53
