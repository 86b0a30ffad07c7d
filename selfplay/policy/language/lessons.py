"""Games that somebody else played, as a model would have lived them: rows to learn from by imitation."""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.errors import ConfigError
from selfplay.policy.language.chat import Chat
from selfplay.policy.language.conversation import Conversation, Reply
from selfplay.rollout.dialogue import Instance


def lesson(chat: Chat, system: str, read: Sequence[str], wrote: Sequence[str], index: int = 0, seat: int = 0) -> Instance:
    """One seat's conversation: what it was told before each of its replies, and the replies.

    Raises:
        ConfigError: a text holds what the tokenizer has no token for.
    """
    replies = chat.ids_of(wrote)
    told = [chat.open(system, read[0]), *chat.go_on(read[1:])]
    conversation = Conversation(seed=0)
    for before, text, ids in zip(told, wrote, replies, strict=True):
        conversation.read(before)
        conversation.write(Reply(text, ids, [0.0] * len(ids), ended=True))
    unknown = chat.tokenizer.unk_token_id
    if unknown is not None and unknown in conversation.ids:
        raise ConfigError(f"the model's tokenizer lacks words of this game: {chat.tokenizer.decode(conversation.ids)!r}")
    return conversation.instance(index, "", seat, 0.0)
