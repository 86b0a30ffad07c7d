"""Games that somebody else played, as a model would have lived them: rows to learn from by imitation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from selfplay.policy.language.conversation import Conversation, Reply

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Chat
    from selfplay.rollout.dialogue import Instance


def lesson(chat: Chat, system: str, read: Sequence[str], wrote: Sequence[str], taught: int | None = None) -> Instance:
    """One seat's conversation: what it was told before each of its replies, and the replies.

    Args:
        chat: Of the model that learns from it.
        system: The rules as it was told them.
        read: Texts before each reply.
        wrote: The replies.
        taught: How many of them are taught, the last ones; by default all.

    Raises:
        ConfigError: a text holds what the tokenizer has no token for.
    """
    replies = chat.ids_of(wrote)
    told = [chat.open(system, read[0]), *chat.go_on(read[1:])]
    conversation = Conversation(seed=0)
    first = 0 if taught is None else len(wrote) - taught
    for number, (before, text, ids) in enumerate(zip(told, wrote, replies, strict=True)):
        conversation.read(before)
        if number < first:
            conversation.read(ids)
        else:
            conversation.write(Reply(text, ids, [0.0] * len(ids), ended=True))
    chat.refuse_unknown(conversation.ids)
    return conversation.instances(0, "", 0, 0.0)[0]
