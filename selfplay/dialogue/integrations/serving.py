"""Plays a game with an asynchronous server that maps token ids to token ids, as verl's rollouts do.

Each game runs in its own thread, so the event loop is never blocked and many games run concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any, final

from selfplay.dialogue.integrations.seats import SeatTokens, seat_rows
from selfplay.dialogue.language.chat import Chat
from selfplay.dialogue.language.conversation import NO_ROOM, Conversation, Reply, Writer
from selfplay.dialogue.language.wire import LENGTH, STOP, InvalidResponse, reply_of
from selfplay.dialogue.runner import GameSpec, Lost, Played, play_games
from selfplay.errors import ConfigError, RunnerError, describe
from selfplay.learner.sampling import Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from selfplay.dialogue.integrations.initial_states import InitialState


@dataclass(frozen=True, slots=True)
class Sampled:
    """A reply of the server."""

    ids: list[int]
    logprobs: list[float] | None


Generate = Callable[[str, list[int]], Awaitable[Sampled]]
"""Requests a reply: (conversation id, token ids). An exception loses the game."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Maximum numbers of tokens."""

    prompt: int  # before the first reply of a seat
    response: int  # from the first reply to the end of the last one
    reply: int  # sampled per reply

    def __post_init__(self) -> None:
        """Refuse a reply that does not fit."""
        if not 1 <= self.reply <= self.response:
            raise ConfigError(f"max_new_tokens {self.reply}: valid: 1 to the response length {self.response}")


@final
class ServerWriter(Writer):
    """Writes the replies of one game with a server; called from the game's thread.

    ``generate`` runs in ``loop``, the running event loop. A conversation that exceeds ``limits`` ends its game.
    """

    def __init__(self, chat: Chat, limits: TokenLimits, generate: Generate, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(chat)
        self._limits = limits
        self._generate = generate
        self._loop = loop
        self._running: set[asyncio.Task[Any]] = set()
        self._given_up = False

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``; failed replies are marked ``lost``."""
        futures = [asyncio.run_coroutine_threadsafe(self._tracked(one), self._loop) for one in conversations]
        written = [future.result() for future in futures]
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    async def give_up(self) -> None:
        """Cancel current calls and refuse later ones. Call it in the loop."""
        self._given_up = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _tracked(self, conversation: Conversation) -> Reply:
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
            sampling = Sampling(max_new_tokens=limits.reply)
            return reply_of(sampled.ids, sampled.logprobs, STOP if ended else LENGTH, sampling, self._chat)
        except InvalidResponse as error:
            return Reply("", [], [], ended=False, lost=f"an invalid response: {error}")
        except Exception as error:  # of the server or a proxy
            return Reply("", [], [], ended=False, lost=describe(error))


@lru_cache(maxsize=4)
def chat_of(tokenizer: PreTrainedTokenizerFast) -> Chat:
    """The chat template of a tokenizer, cached; ConfigError if it is not supported.

    A reply ends with the end-of-sequence token.
    """
    end = tokenizer.eos_token_id
    return Chat(tokenizer, frozenset() if end is None else frozenset([int(end)]))


async def play(
    begun: InitialState, chat: Chat, limits: TokenLimits, generate: Generate
) -> tuple[Played, list[SeatTokens]]:
    """Play one game with the same server in both seats; returns the game and the tokens of its seats.

    Raises:
        ConfigError: the first reply does not fit the limits.
        RunnerError: the game or a reply failed; do not train on it.
    """
    writer = ServerWriter(chat, limits, generate, asyncio.get_running_loop())
    fixture = GameSpec(0, begun.game_id, begun.start(), 0, (writer, writer))
    stop, thread = Event(), ThreadPoolExecutor(1, thread_name_prefix="game")
    try:
        (result,) = await asyncio.get_running_loop().run_in_executor(thread, play_games, [fixture], stop.is_set)
    finally:  # after a cancellation, stop the game thread too
        stop.set()
        await writer.give_up()
        thread.shutdown(wait=False)
    if isinstance(result, Lost):
        raise RunnerError(f"game {begun.game_id}: {result.why}")
    rows = seat_rows(result.instances)
    if not rows:
        read = len(result.instances[0].ids)
        raise ConfigError(
            f"game {begun.game_id}: the prompt before the first reply has {read} tokens, the limit is {limits.prompt} "
            "(data.max_prompt_length)"
        )
    return result, rows
