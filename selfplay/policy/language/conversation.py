"""One seat's conversation as a model lives it: ids that only grow, and which of them the model has sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from selfplay.rollout.dialogue import Instance


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

    def read(self, ids: Sequence[int]) -> None:
        """Something that the model did not write."""
        self.ids.extend(ids)
        self.sampled.extend([False] * len(ids))
        self.logprob.extend([0.0] * len(ids))

    def write(self, reply: Reply) -> None:
        """What it wrote."""
        self.ids.extend(reply.ids)
        self.sampled.extend([True] * len(reply.ids))
        self.logprob.extend(reply.logprob)

    def instance(self, index: int, game_id: str, seat: int, reward: float) -> Instance:
        """For the learner."""
        return Instance(
            index, game_id, seat,
            np.array(self.ids, np.int32), np.array(self.sampled, np.bool_), np.array(self.logprob, np.float32), reward,
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
