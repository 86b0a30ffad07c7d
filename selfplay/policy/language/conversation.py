"""One seat's conversation as a model lives it: ids that only grow, and which of them the model has sampled.

Where the learner gets a row of every turn, each turn begins with a row of its own: the conversation so far, as the
chat template shows it then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from selfplay.rollout.dialogue import Instance

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Chat


@dataclass(frozen=True, slots=True)
class Reply:
    """What a writer wrote."""

    text: str
    ids: list[int]  # sampled, the token that ends the turn included
    logprob: list[float]  # of the sampling distribution; not a number where who wrote it does not tell
    ended: bool  # False: cut off at the limit of new tokens
    room: bool = True  # False: the conversation does not fit into the context; nothing was written
    lost: str | None = None  # why no reply could be had, which is no fault of the game's: nothing was written


NO_ROOM: Final = Reply("", [], [], ended=False, room=False)


@dataclass(slots=True, eq=False)
class Conversation:
    """Made by a writer's chat; the seed is where the writer's luck in it comes from."""

    seed: int
    ids: list[int] = field(default_factory=list)
    sampled: list[bool] = field(default_factory=list)
    logprob: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # the rules, then observations and replies in turn
    before: list[tuple[list[int], list[bool], list[float]]] = field(default_factory=list)  # rows that are done

    def read(self, ids: Sequence[int]) -> None:
        """Something that the model did not write."""
        self.ids.extend(ids)
        self.sampled.extend([False] * len(ids))
        self.logprob.extend([0.0] * len(ids))

    def begin_anew(self, ids: Sequence[int]) -> None:
        """A row of its own for the next turn, which reads these ids."""
        self.before.append((self.ids, self.sampled, self.logprob))
        self.ids, self.sampled, self.logprob = [], [], []
        self.read(ids)

    def write(self, reply: Reply) -> None:
        """What it wrote."""
        if not reply.room or reply.lost is not None:
            return
        self.said.append(reply.text)
        self.ids.extend(reply.ids)
        self.sampled.extend([True] * len(reply.ids))
        self.logprob.extend(reply.logprob)

    def instances(self, index: int, game_id: str, seat: int, reward: float) -> tuple[Instance, ...]:
        """For the learner: one, or one of each turn."""
        rows = [*self.before, (self.ids, self.sampled, self.logprob)]
        return tuple(
            Instance(
                index, game_id, seat,
                np.array(ids, np.int32), np.array(sampled, np.bool_), np.array(logprob, np.float32), reward,
            )
            for ids, sampled, logprob in rows
        )  # fmt: skip


class Writer(Protocol):
    """Who writes replies: a model here, or a server. Blocks."""

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """A new conversation, up to where the first reply begins."""
        ...

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """What each conversation reads after its last reply."""
        ...

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Write a reply to each, into the conversations too."""
        ...

    def close(self, conversations: Sequence[Conversation]) -> None:
        """These go on no more."""
        ...


def begin(chat: Chat, seed: int, system: str, observation: str) -> Conversation:
    """A new conversation, for every writer."""
    conversation = Conversation(seed, said=[system, observation])
    conversation.read(chat.open(system, observation))
    return conversation


def proceed(chat: Chat, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
    """What each conversation reads after its last reply, for every writer."""
    for conversation, said in zip(conversations, observations, strict=True):
        conversation.said.append(said)
    if chat.rows == "turn":
        for conversation in conversations:
            conversation.begin_anew(chat.whole(conversation.said))
    else:
        for conversation, ids in zip(conversations, chat.go_on(observations), strict=True):
            conversation.read(ids)
