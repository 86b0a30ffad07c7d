"""Writes replies by asking a server for them: many at once, patiently, and believing nothing that is not checked.

Every failure of a request, whatever it is, is tried again after a while that doubles each time. A reply that cannot be
had after all loses its game; too many of those in a row mean that the server is gone, and end the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import httpx

from selfplay.errors import RunnerError, ServerError
from selfplay.policy.language.conversation import NO_ROOM, Conversation, Reply, begin, proceed
from selfplay.policy.language.endpoint import Endpoint, NoAnswer, client_options, post
from selfplay.policy.language.wire import BadAnswer, Question
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Chat
    from selfplay.policy.language.sampling import Sampling

FIRST_WAIT_S: Final = 0.5  # before the second try
LONGEST_WAIT_S: Final = 30.0
LINGER_S: Final = 5.0
"""That requests in flight may take to end when the server is given up: one that is cancelled as it connects may leave a
socket open."""
POLL_S: Final = 0.25  # while a server that was started here is not there


@dataclass(frozen=True, slots=True)
class Patience:
    """How a server is asked, and when it is given up."""

    in_flight: int = 64  # requests at once
    timeout_s: float = 120.0  # of one request, to the last byte of its answer
    retries: int = 5  # of one reply
    failures: int = 16  # replies lost in a row that end the run
    absent_s: float = 600.0  # that a server which was started here may take to come back


@final
class RemoteWriter:
    """Conversations with a model on a server (``Writer``). ``disconnect`` when done.

    One thread at a time, and none in which an event loop runs: it has a loop of its own for its requests. Luck is
    the server's: a game is not played again by playing it with the same seed.

    Args:
        chat: Of the model that the server has.
        context: Tokens of a conversation at most.
        sampling: How.
        endpoint: Where.
        patience: With it.
        sleep: For tests, which do not wait.
    """

    def __init__(
        self,
        chat: Chat,
        context: int,
        sampling: Sampling,
        endpoint: Endpoint,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._chat = chat
        self._context = min(context, endpoint.context or context)
        self._sampling = sampling
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._sleep = sleep
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(
            **client_options(self._patience.timeout_s, self._patience.in_flight, endpoint.loopback)
        )
        self._task: asyncio.Task[list[Reply]] | None = None
        self._cancelled = False
        self._failing = 0  # replies lost since the last that was not
        self._first = ""  # why the first of them was
        self._gone: ServerError | None = None  # too many were lost
        self.lost = 0  # replies in all that could not be had
        self.first_cause = ""  # why the first of them could not

    def open(self, seed: int, system: str, observation: str) -> Conversation:
        """See ``Writer``."""
        return begin(self._chat, seed, system, observation)

    def go_on(self, conversations: Sequence[Conversation], observations: Sequence[str]) -> None:
        """See ``Writer``."""
        proceed(self._chat, conversations, observations)

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``; a reply that cannot be had is ``lost``.

        Raises:
            ServerError: too many in a row cannot be had.
            RunnerError: it was cancelled.
        """
        try:
            written = self._runner.run(self._all(conversations))
        except asyncio.CancelledError:
            raise RunnerError("asking the server was cancelled") from None
        for conversation, reply in zip(conversations, written, strict=True):
            conversation.write(reply)
        return written

    def close(self, conversations: Sequence[Conversation]) -> None:
        """See ``Writer``."""

    def cancel(self) -> None:
        """Make a call in progress, and every later one, end with an error. From any thread."""
        self._cancelled = True
        task = self._task
        if task is not None:
            with suppress(RuntimeError):  # it has ended, and its loop with it
                task.get_loop().call_soon_threadsafe(task.cancel)

    def disconnect(self) -> None:
        """Let go of all connections. Nothing can be asked after that."""
        self._runner.run(self._client.aclose())
        self._runner.close()

    async def _all(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Replies in the order of the conversations; when the server is given up nobody waits long for the others."""
        self._task = asyncio.current_task()
        if self._cancelled:
            raise asyncio.CancelledError
        gate = asyncio.Semaphore(self._patience.in_flight)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(c, gate)) for c in conversations]
                while self._gone is None and (waiting := [task for task in tasks if not task.done()]):
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
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

    async def _one(self, conversation: Conversation, gate: asyncio.Semaphore) -> Reply:
        if len(conversation.ids) > self._context - self._sampling.max_new_tokens:
            return NO_ROOM
        async with gate:
            for attempt in range(self._patience.retries + 1):
                if self._gone is not None:
                    return _lost(str(self._gone))
                if attempt:
                    await self._sleep(wait_s(conversation.seed, attempt))
                try:
                    reply = await self._ask(conversation)
                except NoAnswer as error:
                    why, again = str(error), error.again
                except BadAnswer as error:
                    why, again = f"a wrong answer: {error}", True
                else:
                    self._failing = 0
                    return reply
                if not again:
                    break
            return self._give_up(why)

    async def _ask(self, conversation: Conversation) -> Reply:
        wire = self._endpoint.wire
        url = await self._where()
        question = Question(conversation.ids, self._chat.messages(conversation.said))
        answer = await post(self._client, url + wire.path, wire.body(question, self._sampling, self._chat))
        return wire.read(answer, self._sampling, self._chat)

    async def _where(self) -> str:
        waited = 0.0
        while (url := self._endpoint.where()) is None:
            if waited >= self._patience.absent_s:
                raise NoAnswer(f"the server was not back within {self._patience.absent_s:g} s")
            await self._sleep(POLL_S)
            waited += POLL_S
        return url

    def _give_up(self, why: str) -> Reply:
        """The reply is lost; and with it the run where too many were."""
        if not self._failing:
            self._first = why
        self._failing += 1
        self.lost += 1
        self.first_cause = self.first_cause or why
        if self._failing >= self._patience.failures:
            self._gone = self._gone or ServerError(
                f"{self._endpoint.name}: {self._failing} replies in a row could not be had "
                f"(--server-failures sets the limit); the first: {self._first}"
            )
        return _lost(why)


def _lost(why: str) -> Reply:
    return Reply("", [], [], ended=False, lost=f"the server gave no reply: {why}")


def wait_s(seed: int, attempt: int) -> float:
    """Seconds before the attempt, counted from 1: doubled each time, and spread so that not all come at once.

    Between a half and the whole of min(0.5 x 2^(attempt - 1), 30); which follows from the conversation's seed.
    """
    whole = min(FIRST_WAIT_S * 2.0 ** min(attempt - 1, 16), LONGEST_WAIT_S)
    return whole * (0.5 + 0.5 * derive(seed, "wait", attempt) / 2**63)
