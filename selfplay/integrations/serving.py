"""Plays a game in an event loop whose servers take ids and give ids, as verl's rollouts do.

The game runs in a thread of its own and waits there; the loop is never blocked, and many games wait side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any, final

from selfplay.errors import ConfigError, RunnerError, describe
from selfplay.integrations.seats import SeatRow, seat_rows
from selfplay.policy.language.chat import Chat
from selfplay.policy.language.conversation import NO_ROOM, Conversation, Reply, begin, proceed
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.wire import LENGTH, STOP, BadAnswer, reply_of
from selfplay.runner.dialogue import Fixture, Lost, Played, play_games

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from selfplay.integrations.beginnings import Beginning


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a server gave."""

    ids: list[int]
    logprobs: list[float] | None


Generate = Callable[[str, list[int]], Awaitable[Sampled]]
"""Asks for a reply: (name of the conversation, ids so far). Any exception loses the game."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens, at most."""

    prompt: int  # before a seat's first reply
    response: int  # from there to the end of its last
    reply: int  # that are sampled at a time

    def __post_init__(self) -> None:
        """Refuse limits under which no reply fits.

        Raises:
            ConfigError: says which.
        """
        if not 1 <= self.reply <= self.response:
            raise ConfigError(f"max_new_tokens {self.reply}: must be 1 to the response length {self.response}")


@final
class ServerWriter:
    """Conversations of one game with a model on a server (``Writer``), from a thread beside the loop.

    Args:
        chat: Of the model.
        limits: A conversation that outgrows them has no room, which ends its game.
        generate: Runs in the loop.
        loop: Is running.
    """

    def __init__(self, chat: Chat, limits: Limits, generate: Generate, loop: asyncio.AbstractEventLoop) -> None:
        self._chat = chat
        self._limits = limits
        self._generate = generate
        self._loop = loop
        self._running: set[asyncio.Task[Any]] = set()
        self._given_up = False

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """See ``Writer``."""
        return begin(self._chat, seed, system, observation)

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """See ``Writer``."""
        proceed(self._chat, conversations, observations)

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``; a reply that cannot be had is ``lost``."""
        asked = [asyncio.run_coroutine_threadsafe(self._asked(one), self._loop) for one in conversations]
        written = [future.result() for future in asked]
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    def close(self, conversations: Sequence[Conversation]) -> None:
        """See ``Writer``."""

    async def give_up(self) -> None:
        """Make a call in progress, and every later one, end with an error. In the loop."""
        self._given_up = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _asked(self, conversation: Conversation) -> Reply:
        """A reply that can be given up."""
        task = asyncio.current_task()
        if self._given_up or task is None:
            raise asyncio.CancelledError
        self._running.add(task)
        try:
            return await self._one(conversation)
        finally:
            self._running.discard(task)

    async def _one(self, conversation: Conversation) -> Reply:
        limits, read = self._limits, len(conversation.ids)
        prompt = conversation.sampled.index(True) if any(conversation.sampled) else read
        if prompt > limits.prompt or read - prompt + limits.reply > limits.response:
            return NO_ROOM
        try:
            sampled = await self._generate(str(conversation.seed), list(conversation.ids))
            ended = bool(sampled.ids) and sampled.ids[-1] in self._chat.ends
            asked = Sampling(max_new_tokens=limits.reply)
            return reply_of(sampled.ids, sampled.logprobs, STOP if ended else LENGTH, asked, self._chat)
        except BadAnswer as error:
            return Reply("", [], [], ended=False, lost=f"a wrong answer: {error}")
        except Exception as error:  # of a server, or of what stands before it
            return Reply("", [], [], ended=False, lost=describe(error))


@lru_cache(maxsize=4)
def chat_of(tokenizer: PreTrainedTokenizerFast) -> Chat:
    """The chat of a tokenizer, made once; a reply ends with its end-of-sequence token.

    Raises:
        ConfigError: its template cannot be played with.
    """
    end = tokenizer.eos_token_id
    return Chat(tokenizer, frozenset() if end is None else frozenset([int(end)]))


async def play(begun: Beginning, chat: Chat, limits: Limits, generate: Generate) -> tuple[Played, list[SeatRow]]:
    """Play one game, both seats by the same server: how it went, and a row of each seat that wrote something.

    Raises:
        ConfigError: not even the first reply has room.
        RunnerError: the game raised, or a reply could not be had; nothing of it may be trained on.
    """
    writer = ServerWriter(chat, limits, generate, asyncio.get_running_loop())
    fixture = Fixture(0, begun.game_id, begun.start(), 0, (writer, writer))
    stop, thread = Event(), ThreadPoolExecutor(1, thread_name_prefix="game")
    try:
        (result,) = await asyncio.get_running_loop().run_in_executor(thread, play_games, [fixture], stop.is_set)
    finally:  # whoever gives up waiting leaves no thread that waits
        stop.set()
        await writer.give_up()
        thread.shutdown(wait=False)
    if isinstance(result, Lost):
        raise RunnerError(f"game {begun.game_id}: {result.why}")
    rows = seat_rows(result.instances)
    if not rows:
        read = len(result.instances[0].ids)
        raise ConfigError(
            f"game {begun.game_id}: what is read before the first reply is {read} tokens, of {limits.prompt} at most "
            "(data.max_prompt_length)"
        )
    return result, rows
