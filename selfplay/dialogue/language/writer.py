"""Generates replies with a model in this process: many conversations at once, each token computed once.

Keys and values of a conversation stay in a store until it is closed. A round takes conversations out of the store,
reads their new tokens, and generates until the last reply has ended. Rows whose reply has ended leave the batch as soon
as there are enough of them.
Letters in shapes: R rows, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from selfplay.dialogue.language.conversation import NO_ROOM, Conversation, Reply, Writer
from selfplay.dialogue.language.decoding import (
    STORE_BYTES,
    DecodingBatch,
    DecodingRow,
    KVStore,
    bytes_of_token,
    rows_at_once,
    shared,
)
from selfplay.games.splitmix import words
from selfplay.learner.sampling import Sampling, log_distribution

if TYPE_CHECKING:
    from selfplay.dialogue.language.model import LanguageModel

KEEP_SHARE: Final = 0.85  # the batch is compacted if at most this share of its rows goes on


@final
class LocalWriter(Writer):
    """Writes with a local model, in batches of at most ``rows``, see ``rows_at_once``. One thread at a time.

    The model's weights may change only while no conversation is open. ``store_bytes`` limits the keys and values of
    open conversations.
    """

    def __init__(
        self,
        model: LanguageModel,
        sampling: Sampling,
        rows: int | None = None,
        keep_share: float = KEEP_SHARE,
        store_bytes: int = STORE_BYTES,
    ) -> None:
        super().__init__(model.chat)
        self._model = model
        self._sampling = sampling
        self._rows = rows or rows_at_once(bytes_of_token(model.parts))
        self._keep_share = keep_share
        self._store = KVStore(model, store_bytes)

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """See ``Writer``. The common prefix of a new row with the row before is not read again."""
        super().go_on(conversations, observations)
        for conversation in conversations:
            if conversation.before:
                self._store.cut(conversation, shared(conversation.before[-1][0], conversation.ids))

    @torch.inference_mode()
    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        longest = self._model.context - self._sampling.max_new_tokens
        fitting = [c for c in conversations if len(c.ids) <= longest]
        fitting.sort(key=self._store.unread)  # rows of a round then need little padding
        replies: dict[int, Reply] = {}
        for start in range(0, len(fitting), self._rows):
            replies |= self._round(fitting[start : start + self._rows])
        written = [replies.get(id(c), NO_ROOM) for c in conversations]
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    def close(self, conversations: Sequence[Conversation]) -> None:
        self._store.drop(conversations)

    def _round(self, conversations: list[Conversation]) -> dict[int, Reply]:
        rows = [DecodingRow(c, self._store.slot(c)) for c in conversations]
        batch = DecodingBatch(self._model, self._store, rows, self._sampling.max_new_tokens, self._tick)
        logits = batch.read()
        for left in range(self._sampling.max_new_tokens, 0, -1):
            drawn = self._draw(logits, batch.rows)
            going_on = sum(not row.ended for row in batch.rows)
            if left == 1 or not going_on:
                break
            if going_on <= self._keep_share * len(batch.rows):
                drawn = batch.drop_ended(drawn)
            logits = batch.step(drawn)
        batch.finish()
        self.tally.replies += sum(not row.ended for row in rows)  # cut off
        texts = self._model.chat.text_of([row.ids for row in rows])
        return {
            id(row.conversation): Reply(text, row.ids, row.logprob, row.ended)
            for row, text in zip(rows, texts, strict=True)
        }

    def _tick(self) -> None:
        self.progress += 1

    def _draw(self, logits: Tensor, rows: list[DecodingRow]) -> Tensor:
        """Draw a token for each row [R]; rows that have not ended append it."""
        logprobs = log_distribution(logits, self._sampling)
        if self._sampling.greedy:
            drawn = logprobs.argmax(-1)
        else:
            mass = logprobs.exp().cumsum(-1, dtype=torch.float64)
            whole = mass[:, -1:]
            point = torch.from_numpy(_uniforms(rows)).to(mass.device)[:, None] * whole
            # Rounding must not reach the whole mass, or a token of probability 0 would be drawn.
            drawn = torch.searchsorted(mass, torch.minimum(point, whole * (1 - 2**-50)), right=True)[:, 0]
        taken = logprobs.gather(1, drawn[:, None])[:, 0].tolist()
        ends = self._model.chat.ends
        for row, token, logprob in zip(rows, drawn.tolist(), taken, strict=True):
            if not row.ended:
                row.ids.append(token)
                row.logprob.append(logprob)
                row.ended = token in ends
                self.tally.tokens += 1
                self.tally.replies += row.ended
        return drawn


def _uniforms(rows: list[DecodingRow]) -> NDArray[np.float64]:
    """[R] numbers in [0, 1), a hash of each conversation's seed and position; independent of the batch."""
    seeds = np.array([row.conversation.seed for row in rows], np.uint64)
    places = np.array(
        [(len(row.conversation.before) << 32) + len(row.conversation.ids) + len(row.ids) for row in rows], np.uint64
    )
    return (words(seeds, places) >> np.uint64(11)).astype(np.float64) * 2.0**-53
