"""Requests to servers of replies: the client, one request with what can go wrong with it, and who answers at a URL."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx

from selfplay.errors import ConfigError, describe
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.wire import (
    MAX_BYTES,
    BadAnswer,
    ChatCompletions,
    Completions,
    Json,
    Question,
    SGLang,
    Wire,
    decode,
)

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Chat

KEY: Final = "SELFPLAY_SERVER_KEY"
"""Variable of the environment with the key of a server that wants one."""
KEEP_S: Final = 1.0
"""That an unused connection is kept: well below the 5 s of usual servers, which else may end it just as we ask."""
_AGAIN: Final = (408, 425, 429)  # what a client is told that may come back later
_SHOWN: Final = 200  # characters of what a server says, in an error
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class NoAnswer(Exception):
    """A request that came to nothing; ``again`` says whether it may be tried again."""

    def __init__(self, why: str, again: bool = True) -> None:
        super().__init__(why)
        self.again = again


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where replies come from."""

    name: str  # for people
    wire: Wire
    where: Callable[[], str | None]  # base of the URL; None: it is not there now, but expected back
    context: int | None = None  # tokens of a conversation at most, where it tells
    loopback: bool = False  # on this machine


def client_options(timeout_s: float, connections: int, loopback: bool) -> dict[str, Any]:
    """Of an httpx client. A proxy of the environment is for other machines; redirects are not followed."""
    key = os.environ.get(KEY)
    return {
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": httpx.Timeout(timeout_s, pool=None),
        "limits": httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=KEEP_S
        ),
        "trust_env": not loopback,
    }


async def exchange(
    client: httpx.AsyncClient, method: str, url: str, body: Json | None = None, within_s: float | None = None
) -> tuple[int, bytes]:
    """Status and content of one answer. All of it has to come in time, by default the time that the client was given.

    The client's own time-outs are of one operation: they begin again with each byte that comes.

    Raises:
        NoAnswer: none came, or not all of it.
    """
    within_s = within_s or client.timeout.read
    data = bytearray()
    try:
        async with asyncio.timeout(within_s), client.stream(method, url, json=body) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MAX_BYTES:
                    raise NoAnswer(f"an answer of more than {MAX_BYTES} bytes")
    except (TimeoutError, httpx.TimeoutException) as error:
        raise NoAnswer(f"no whole answer within {within_s:g} s") from error
    except httpx.HTTPError as error:
        raise NoAnswer(describe(error)) from error
    return response.status_code, bytes(data)


async def post(client: httpx.AsyncClient, url: str, body: Json) -> Json:
    """Ask once.

    Raises:
        NoAnswer: nothing came that could be an answer.
    """
    code, data = await exchange(client, "POST", url, body)
    if code != httpx.codes.OK:
        said = " ".join(data[: 4 * _SHOWN].decode(errors="replace").split())[:_SHOWN]
        raise NoAnswer(f"HTTP {code}{f': {said}' if said else ''}", again=code >= 500 or code in _AGAIN)
    try:
        return decode(data)
    except BadAnswer as error:
        raise NoAnswer(str(error)) from error


def base_of(url: str) -> str:
    """A URL as a user gives it, with or without ``/v1``, as paths are put behind it.

    Raises:
        ConfigError: it is none.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        raise ConfigError(f"--server-url {url}: give it as http://HOST:PORT")
    return url.rstrip("/").removesuffix("/v1")


def find_endpoint(url: str, chat: Chat, timeout_s: float) -> Endpoint:
    """Ask a server what it is. Blocks, and must not be called where an event loop runs.

    Raises:
        ConfigError: nobody answers there whom we know how to ask.
    """
    return asyncio.run(_find(url, base_of(url), chat, timeout_s))


async def _find(url: str, base: str, chat: Chat, timeout_s: float) -> Endpoint:
    loopback = urlsplit(base).hostname in _LOOPBACK
    async with httpx.AsyncClient(**client_options(timeout_s, 1, loopback)) as client:
        try:
            for path in ("/get_model_info", "/model_info"):  # the second is the newer name
                if "model_path" in _json(await exchange(client, "GET", base + path)):
                    return Endpoint(base, SGLang(), lambda: base, loopback=loopback)
            found = _model(_json(await exchange(client, "GET", f"{base}/v1/models")))
            if found is None:
                raise ConfigError(
                    f"--server-url {url}: what answers there is neither SGLang nor OpenAI-compatible: "
                    "/get_model_info and /v1/models tell of no model"
                )
            wire = await _openai(client, base, str(found["id"]), chat)
            return Endpoint(base, wire, lambda: base, _limit(found), loopback)
        except NoAnswer as error:
            raise ConfigError(f"--server-url {url}: no server answers there: {error}") from error


async def _openai(client: httpx.AsyncClient, base: str, model: str, chat: Chat) -> Wire:
    """The best of OpenAI's formats that a server takes: found out with a reply of one token."""
    sampling = Sampling(temperature=0.0, max_new_tokens=1)
    asked = Question(chat.open("", ""), ())
    for wire in (Completions(model, ids=True), Completions(model, ids=False)):
        answer = _json(await exchange(client, "POST", base + wire.path, wire.body(asked, sampling, chat)))
        choices = answer.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return Completions(model, ids=isinstance(choices[0].get("token_ids"), list))
    return ChatCompletions(model)


def _model(answer: Json) -> Json | None:
    """The first model that a server lists."""
    listed = answer.get("data")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict) and isinstance(listed[0].get("id"), str):
        return dict(listed[0])
    return None


def _limit(model: Json) -> int | None:
    limit = model.get("max_model_len")
    return limit if type(limit) is int and limit > 0 else None


def _json(answer: tuple[int, bytes]) -> Json:
    """What was answered; nothing where it is no JSON object, or an error."""
    code, data = answer
    with suppress(BadAnswer):
        if code == httpx.codes.OK:
            return decode(data)
    return {}
