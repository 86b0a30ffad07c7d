"""HTTP requests to inference servers, and detection of the API format of a server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from selfplay.dialogue.language.wire import (
    MAX_BYTES,
    ApiFormat,
    ChatCompletions,
    Completions,
    InvalidResponse,
    Json,
    PromptMessages,
    SGLang,
    decode,
)
from selfplay.errors import ConfigError, describe
from selfplay.learner.sampling import Sampling

if TYPE_CHECKING:
    import ssl

    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.language.routes import Weights

KEY: Final = "SELFPLAY_SERVER_KEY"  # environment variable with the API key
KEEP_S: Final = 1.0
"""Keep-alive of unused connections: less than the usual 5 s of servers, which could close one during a request."""
_RETRYABLE: Final = (408, 425, 429)  # client errors that are worth a retry
_SHOWN: Final = 200  # characters of a response, in an error
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class _ModelInfo(BaseModel, strict=True):
    """A model of ``/v1/models``."""

    id: str
    max_model_len: Any = None

    @property
    def context(self) -> int | None:
        """Maximum number of tokens of a conversation, if known."""
        limit = self.max_model_len
        return limit if type(limit) is int and limit > 0 else None


class _Models(BaseModel, strict=True):
    data: list[_ModelInfo]


class RequestError(Exception):
    """A failed request; ``retryable`` says whether a retry may help."""

    def __init__(self, why: str, retryable: bool = True) -> None:
        super().__init__(why)
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server."""

    name: str  # for messages
    wire: ApiFormat
    where: Callable[[], str | None]  # base of the URL; None: not ready at the moment
    context: int | None = None  # maximum number of tokens, if known
    loopback: bool = False  # on this machine
    serving: Callable[[], Weights | None] = lambda: None  # what it was sent last; None: nothing
    model: str = ""  # its name for the model, of an opponent


def client_options(timeout_s: float, connections: int, loopback: bool) -> dict[str, Any]:
    """Options of an httpx client. Proxies are not used for this machine; redirects are not followed."""
    key = os.environ.get(KEY)
    return {
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": httpx.Timeout(timeout_s, pool=None),
        "limits": httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=KEEP_S
        ),
        "trust_env": not loopback,
        "verify": _certificates(not loopback),
    }


@cache
def _certificates(trust_env: bool) -> ssl.SSLContext:
    """Read once: each client would take tens of milliseconds to read them again."""
    return httpx.create_ssl_context(trust_env=trust_env)


async def exchange(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    body: Json | None = None,
    within_s: float | None = None,
    limit: int = MAX_BYTES,
) -> tuple[int, bytes]:
    """Status and content of one response of at most ``limit`` bytes.

    It must be complete within ``within_s`` seconds, by default the client's timeout; the client's own timeouts start
    again with each byte.

    Raises:
        RequestError: no complete response.
    """
    within_s = within_s or client.timeout.read
    data = bytearray()
    try:
        async with asyncio.timeout(within_s), client.stream(method, url, json=body) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > limit:
                    raise RequestError(f"an answer of more than {limit} bytes")
    except (TimeoutError, httpx.TimeoutException) as error:
        raise RequestError(f"no whole answer within {within_s:g} s") from error
    except httpx.HTTPError as error:
        raise RequestError(describe(error)) from error
    return response.status_code, bytes(data)


def shown(data: bytes) -> str:
    """The beginning of a response, on one line."""
    return " ".join(data[: 4 * _SHOWN].decode(errors="replace").split())[:_SHOWN]


async def post(client: httpx.AsyncClient, url: str, body: Json, limit: int = MAX_BYTES) -> Json:
    """Post JSON once; RequestError without a valid response."""
    code, data = await exchange(client, "POST", url, body, limit=limit)
    if code != httpx.codes.OK:
        said = shown(data)
        raise RequestError(f"HTTP {code}{f': {said}' if said else ''}", retryable=code >= 500 or code in _RETRYABLE)
    try:
        return decode(data)
    except InvalidResponse as error:
        raise RequestError(str(error)) from error


def base_of(url: str, flag: str = "--server-url") -> str:
    """The base of a URL that is given with or without ``/v1``; ConfigError for an invalid one."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(f"{flag} {url}: give it as http://HOST:PORT")
    return url.rstrip("/").removesuffix("/v1")


def find_endpoint(url: str, chat: Chat, timeout_s: float) -> Endpoint:
    """Detect the API format of a server. Blocks, and must not be called in an event loop.

    Raises:
        ConfigError: no server, or an unknown format.
    """
    return asyncio.run(_find(url, base_of(url), chat, timeout_s))


async def _find(url: str, base: str, chat: Chat, timeout_s: float) -> Endpoint:
    loopback = urlsplit(base).hostname in _LOOPBACK
    async with httpx.AsyncClient(**client_options(timeout_s, 1, loopback)) as client:
        try:
            for path in ("/get_model_info", "/model_info"):  # the second is the newer name
                if "model_path" in _json(await exchange(client, "GET", base + path)):
                    return Endpoint(base, SGLang(), lambda: base, loopback=loopback)
            try:
                found = _Models.model_validate(_json(await exchange(client, "GET", f"{base}/v1/models"))).data[0]
            except (ValidationError, IndexError):
                raise ConfigError(
                    f"--server-url {url}: what answers there is neither SGLang nor OpenAI-compatible: "
                    "/get_model_info and /v1/models name no model"
                ) from None
            wire = await _openai(client, base, found.id, chat)
            return Endpoint(base, wire, lambda: base, found.context, loopback)
        except RequestError as error:
            raise ConfigError(f"--server-url {url}: no server answers there: {error}") from error


def find_opponent(url: str, timeout_s: float) -> Endpoint:
    """A server of ``--opponent``, which is asked for text by OpenAI's chat API. Blocks, as ``find_endpoint``.

    Raises:
        ConfigError: no server, or it names no model.
    """
    return asyncio.run(_find_opponent(url, base_of(url, "--opponent"), timeout_s))


async def _find_opponent(url: str, base: str, timeout_s: float) -> Endpoint:
    loopback = urlsplit(base).hostname in _LOOPBACK
    async with httpx.AsyncClient(**client_options(timeout_s, 1, loopback)) as client:
        try:
            found = _Models.model_validate(_json(await exchange(client, "GET", f"{base}/v1/models"))).data[0]
        except RequestError as error:
            raise ConfigError(f"--opponent {url}: no server answers there: {error}") from error
        except (ValidationError, IndexError):
            raise ConfigError(
                f"--opponent {url}: what answers there is not OpenAI-compatible: /v1/models names no model"
            ) from None
    # Its context is counted in its own tokens, which are not known here: it refuses what is too long.
    wire = ChatCompletions(found.id, encoded=False)
    return Endpoint(base, wire, lambda: base, loopback=loopback, model=found.id)


async def _openai(client: httpx.AsyncClient, base: str, model: str, chat: Chat) -> ApiFormat:
    """The best of OpenAI's formats that a server supports, by a request for one token."""
    sampling = Sampling(temperature=0.0, max_new_tokens=1)
    prompt = PromptMessages(chat.open("", ""), ())
    for wire in (Completions(model, ids=True), Completions(model, ids=False)):
        answer = _json(await exchange(client, "POST", base + wire.path, wire.body(prompt, sampling, chat)))
        choices = answer.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return Completions(model, ids=isinstance(choices[0].get("token_ids"), list))
    return ChatCompletions(model)


def _json(answer: tuple[int, bytes]) -> Json:
    """The JSON of a response; empty after an error or without a JSON object."""
    code, data = answer
    with suppress(InvalidResponse):
        if code == httpx.codes.OK:
            return decode(data)
    return {}
