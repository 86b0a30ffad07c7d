"""Conversations of one seat as token ids, and the base of the writers that reply in them.

A conversation only grows, and marks the ids that the model sampled. If the learner gets one row per turn
(``Chat.rows``), each turn starts a new row: the conversation so far, as the chat template shows it then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.dialogue.instances import Instance
from selfplay.dialogue.tally import Tally

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Chat


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a writer."""

    text: str
    ids: list[int]  # sampled, including the token that ends the turn
    logprob: list[float]  # of the sampling distribution; NaN if the server does not report it
    ended: bool  # False: cut off at the limit of new tokens
    room: bool = True  # False: the conversation does not fit into the context; nothing was written
    lost: str | None = None  # why the writer failed; nothing was written


NO_ROOM: Final = Reply("", [], [], ended=False, room=False)


@dataclass(slots=True, eq=False)
class Conversation:
    """A conversation. The seed determines the random numbers of its replies."""

    seed: int
    ids: list[int] = field(default_factory=list)
    sampled: list[bool] = field(default_factory=list)
    logprob: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # the rules, then observations and replies in turn
    before: list[tuple[list[int], list[bool], list[float]]] = field(default_factory=list)  # finished rows

    def read(self, ids: Sequence[int]) -> None:
        self.ids.extend(ids)
        self.sampled.extend([False] * len(ids))
        self.logprob.extend([0.0] * len(ids))

    def start_row(self, ids: Sequence[int]) -> None:
        self.before.append((self.ids, self.sampled, self.logprob))
        self.ids, self.sampled, self.logprob = [], [], []
        self.read(ids)

    def write(self, reply: Reply) -> None:
        if not reply.room or reply.lost is not None:
            return
        self.said.append(reply.text)
        self.ids.extend(reply.ids)
        self.sampled.extend([True] * len(reply.ids))
        self.logprob.extend(reply.logprob)

    def instances(self, index: int, game_id: str, seat: int, reward: float) -> tuple[Instance, ...]:
        """The rows for the learner: one, or one per turn."""
        rows = [*self.before, (self.ids, self.sampled, self.logprob)]
        return tuple(
            Instance(
                index, game_id, seat,
                np.array(ids, np.int32), np.array(sampled, np.bool_), np.array(logprob, np.float32), reward,
            )
            for ids, sampled, logprob in rows
        )  # fmt: skip


class Writer:
    """Base of writers, which reply with a local model or ask a server. Calls block."""

    interruptible: bool = False  # ``cancel`` frees a thread that is blocked in a call

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.progress = 0  # grows while replies are being written
        self.tally = Tally()  # counts the replies

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """A new conversation, up to the start of the first reply."""
        conversation = Conversation(seed, said=[system, observation])
        conversation.read(self._chat.open(system, observation))
        return conversation

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """Append the observation that follows the last reply of each conversation."""
        for conversation, said in zip(conversations, observations, strict=True):
            conversation.said.append(said)
        if self._chat.rows == "turn":
            for conversation in conversations:
                conversation.start_row(self._chat.whole(conversation.said))
        else:
            for conversation, ids in zip(conversations, self._chat.go_on(observations), strict=True):
                conversation.read(ids)

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        raise NotImplementedError

    def close(self, conversations: Sequence[Conversation]) -> None:
        """Release what is kept for conversations that have ended."""

    def cancel(self) -> None:
        """Make calls in progress and later ones fail, if ``interruptible``. From any thread."""

    def disconnect(self) -> None:
        """Release connections; no calls may follow."""


def demonstration(
    chat: Chat, system: str, observations: Sequence[str], replies: Sequence[str], targets: int | None = None
) -> Instance:
    """A row for supervised learning: a conversation with given replies, of which the last ``targets`` are learned.

    Raises:
        ConfigError: the tokenizer has no token for a part of the text.
    """
    prompts = [chat.open(system, observations[0]), *chat.go_on(observations[1:])]
    conversation = Conversation(seed=0)
    first = 0 if targets is None else len(replies) - targets
    for number, (prompt, text, ids) in enumerate(zip(prompts, replies, chat.ids_of(replies), strict=True)):
        conversation.read(prompt)
        if number < first:
            conversation.read(ids)
        else:
            conversation.write(Reply(text, ids, [0.0] * len(ids), ended=True))
    chat.refuse_unknown(conversation.ids)
    return conversation.instances(0, "", 0, 0.0)[0]
