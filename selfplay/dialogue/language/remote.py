"""Requests replies from a server: concurrently, with retries, and with validated responses.

A failed request is retried with exponential backoff. If all retries fail, the reply and its game are lost. Too many
lost replies in a row end the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import httpx

from selfplay.dialogue.language.conversation import NO_ROOM, Conversation, Reply, Writer
from selfplay.dialogue.language.endpoint import Endpoint, RequestError, client_options, post
from selfplay.dialogue.language.updates import load
from selfplay.dialogue.language.wire import TOKEN_BYTES, InvalidResponse, PromptMessages
from selfplay.errors import RunnerError, ServerError
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Chat
    from selfplay.learner.sampling import Sampling

FIRST_WAIT_S: Final = 0.5  # before the second try
LONGEST_WAIT_S: Final = 30.0
LINGER_S: Final = 5.0
"""Time for requests in flight to end before they are cancelled: cancelling a connection attempt may leave a socket
open."""
POLL_S: Final = 0.25  # between two looks at the server and at the run while a request waits
_OTHER_BYTES: Final = 2**16  # of a response, besides those of the reply and of the ids of the prompt
_ID_BYTES: Final = 16  # of a token of the prompt in a response: vLLM repeats the ids


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of requests to a server."""

    in_flight: int = 64  # concurrent requests
    timeout_s: float = 120.0  # of one request, until the last byte of the response
    retries: int = 5  # of one reply
    failures: int = 16  # consecutive lost replies that end the run
    absent_s: float = 600.0  # time for a server that was started here to become ready again


@final
class RemoteWriter(Writer):
    """Writes with a model on a server, in conversations of at most ``context`` tokens. ``disconnect`` when done.

    One thread at a time, without a running event loop: requests run in a loop of its own. The random numbers are the
    server's, so a seed does not reproduce a game. Tests replace ``sleep``.

    Args:
        ending: whether the run is to end; retries are then dropped. Called in the writer's thread.
    """

    interruptible = True

    def __init__(
        self,
        chat: Chat,
        context: int,
        sampling: Sampling,
        endpoint: Endpoint,
        limits: RequestLimits | None = None,
        ending: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(chat)
        self._context = min(context, endpoint.context or context)
        self._sampling = sampling
        self._endpoint = endpoint
        self._limits = limits or RequestLimits()
        self._ending = ending
        self._sleep = sleep
        self._runner = asyncio.Runner()
        self._reader = ThreadPoolExecutor(1, "reads replies")  # tokenizing would block the loop
        self._client = httpx.AsyncClient(
            **client_options(self._limits.timeout_s, self._limits.in_flight, endpoint.loopback)
        )
        self._task: asyncio.Task[list[Reply]] | None = None
        self._cancelled = False
        self._attempts: dict[asyncio.Timeout, int] = {}  # number of the attempt of each request in progress
        self._failing = 0  # consecutive lost replies
        self._first = ""  # cause of the first of them
        self._gone: ServerError | None = None  # set after too many
        self.lost = 0  # lost replies in all

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``; failed replies are marked ``lost``.

        Raises:
            ServerError: too many consecutive replies are lost.
            RunnerError: cancelled.
        """
        try:
            written = self._runner.run(self._all(conversations))
        except asyncio.CancelledError:
            raise RunnerError("asking the server was cancelled") from None
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    def cancel(self) -> None:
        self._cancelled = True
        task = self._task
        if task is not None:
            with suppress(RuntimeError):  # the loop has ended
                task.get_loop().call_soon_threadsafe(task.cancel)

    def disconnect(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self._reader.shutdown(wait=False, cancel_futures=True)

    async def _all(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Replies in the order of the conversations; ends early if the server is given up."""
        self._task = asyncio.current_task()
        if self._cancelled:
            raise asyncio.CancelledError
        gate = asyncio.Semaphore(self._limits.in_flight)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._reply(c, gate)) for c in conversations]
                while self._gone is None and (waiting := [task for task in tasks if not task.done()]):
                    await asyncio.wait(waiting, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
                    if self._ending():
                        self._drop_retries()
                if waiting := [task for task in tasks if not task.done()]:
                    await asyncio.wait(waiting, timeout=LINGER_S)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            self._task = None
        if self._gone is not None:
            raise self._gone
        return [task.result() for task in tasks]

    async def _reply(self, conversation: Conversation, gate: asyncio.Semaphore) -> Reply:
        if len(conversation.ids) > self._context - self._sampling.max_new_tokens:
            return NO_ROOM
        async with gate:
            why = self._first
            for attempt in range(self._limits.retries + 1):
                if self._gone is not None:
                    return _lost(str(self._gone))
                if attempt:
                    await self._pause(wait_s(conversation.seed, attempt))
                if self._ending() and (attempt or self._failing):
                    break
                found = await self._attempt(conversation, attempt)
                self.progress += 1
                if isinstance(found, Reply):
                    return found
                why = str(found)
                if not found.retryable:
                    break
            return self._give_up(why)

    async def _attempt(self, conversation: Conversation, attempt: int) -> Reply | RequestError:
        """A reply, or why there is none; ``attempt`` counts from 0."""
        try:
            async with asyncio.timeout(None) as limit:
                self._attempts[limit] = attempt
                reply = await self._request(conversation)
        except TimeoutError:
            return RequestError(self._first or "it is not waited for, since the run ends", retryable=False)
        except RequestError as error:
            return error
        except InvalidResponse as error:
            return RequestError(f"an invalid response: {error}")
        finally:
            self._attempts.pop(limit, None)
        self._failing = 0
        self.tally.replies += 1
        self.tally.tokens += len(reply.ids)
        return reply

    def _drop_retries(self) -> None:
        """End attempts in progress that are not the first, and all if the last reply was lost."""
        now = asyncio.get_running_loop().time()
        for limit in [limit for limit, attempt in self._attempts.items() if attempt or self._failing]:
            del self._attempts[limit]
            limit.reschedule(now)

    async def _pause(self, seconds: float) -> None:
        while seconds > 0.0 and not self._ending():
            await self._sleep(min(seconds, POLL_S))
            seconds -= POLL_S

    async def _request(self, conversation: Conversation) -> Reply:
        wire = self._endpoint.wire
        url = await self._url()
        prompt = PromptMessages(conversation.ids, self._chat.messages(conversation.said))
        limit = TOKEN_BYTES * self._sampling.max_new_tokens + _ID_BYTES * len(conversation.ids) + _OTHER_BYTES
        weights = self._endpoint.serving()
        adapter = None if weights is None else weights.name
        body = wire.body(prompt, self._sampling, self._chat, adapter)
        try:
            answer = await post(self._client, url + wire.path, body, limit)
        except RequestError as error:
            if weights is None or adapter is None or adapter not in str(error):
                raise
            await load(self._client, url, wire.routes, weights)  # the server was started anew, without it
            raise RequestError(str(error)) from error  # to be retried
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, wire.read, answer, self._sampling, self._chat)

    async def _url(self) -> str:
        waited = 0.0
        while (url := self._endpoint.where()) is None:
            if waited >= self._limits.absent_s or self._ending():
                raise RequestError(f"the server was not back within {waited:g} s")
            await self._sleep(POLL_S)
            self.progress += 1  # a wait with a limit of its own
            waited += POLL_S
        return url

    def _give_up(self, why: str) -> Reply:
        """Count a lost reply; after too many, the run ends."""
        if not self._failing:
            self._first = why
        self._failing += 1
        self.lost += 1
        if self._failing >= self._limits.failures and not self._ending():
            self._gone = self._gone or ServerError(
                f"{self._endpoint.name}: {self._failing} replies in a row could not be had "
                f"(server.failures sets the limit); the first: {self._first}"
            )
        return _lost(why)


def _lost(why: str) -> Reply:
    return Reply("", [], [], ended=False, lost=f"the server gave no reply: {why}")


def wait_s(seed: int, attempt: int) -> float:
    """Backoff in seconds before a retry, counted from 1: min(0.5 x 2^(attempt - 1), 30) with jitter.

    The jitter, a factor from 0.5 to 1, is a hash of the conversation's seed.
    """
    whole = min(FIRST_WAIT_S * 2.0 ** min(attempt - 1, 16), LONGEST_WAIT_S)
    return whole * (0.5 + 0.5 * derive(seed, "wait", attempt) / 2**63)
