"""Sends new weights to an inference server (see ``routes``)."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import httpx

from selfplay.dialogue.language.endpoint import RequestError, exchange, shown
from selfplay.dialogue.language.wire import InvalidResponse, decode

if TYPE_CHECKING:
    from selfplay.dialogue.language.routes import WeightRoutes, Weights
    from selfplay.dialogue.language.wire import Json

_NOBODY: Final = "selfplay-none"  # name of no adapter, to find out whether a server has the route
_RETRYABLE: Final = (408, 425, 429, 502, 503, 504)  # of a server that starts or is busy; 500 is a refusal of vLLM
_LOADED: Final = re.compile("already (been )?loaded")


class NoRouteError(RequestError):
    """The server has no such route: it is of another kind, an older version, or was started without it."""


async def load(
    client: httpx.AsyncClient, base: str, routes: WeightRoutes, new: Weights, before: Weights | None = None
) -> None:
    """Have a server load weights, and drop the adapter ``before``. No request may be in progress.

    Raises:
        RequestError: it refused, or gave no answer; ``NoRouteError`` if it has no such interface.
    """
    if new.name is None:
        body: Json = {"method": "reload_weights"} if routes.fixed else {"model_path": str(new.folder)}
        await _post(client, base, routes.whole, body)
        if routes.reset is not None:
            await _post(client, base, routes.reset, {})
        return
    try:
        await _post(client, base, routes.load, {"lora_name": new.name, "lora_path": str(new.folder)})
    except RequestError as error:
        if not _LOADED.search(str(error)):
            raise
    if before is not None and before.name not in (None, new.name):
        with suppress(RequestError):  # one that stays costs the server memory, and no more
            await _post(client, base, routes.unload, {"lora_name": before.name})


async def check_routes(client: httpx.AsyncClient, base: str, routes: WeightRoutes, *, adapter: bool) -> None:
    """Ask a server whether it takes weights, without a change.

    Raises:
        RequestError: it does not; the message says why.
    """
    path, body = (routes.unload, {"lora_name": _NOBODY}) if adapter else (routes.whole, {})
    try:
        await _post(client, base, path, body)
    except NoRouteError:
        raise
    except RequestError as error:  # there is no such adapter, or no folder was named
        if "not enabled" in str(error) or str(error).startswith(("HTTP 401", "HTTP 403")):
            raise


async def _post(client: httpx.AsyncClient, base: str, path: str, body: Json) -> None:
    code, data = await exchange(client, "POST", base + path, body)
    answer = _object(data)
    if code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED) and not answer.keys() & {"error", "message"}:
        raise NoRouteError(f"HTTP {code} for {path}", retryable=False)
    if code != httpx.codes.OK:
        raise RequestError(f"HTTP {code} for {path}: {_why(answer) or shown(data)}", retryable=code in _RETRYABLE)
    if answer.get("success") is False:  # SGLang's, and vLLM's reset of a cache that is in use
        raise RequestError(f"{path}: {_why(answer) or shown(data)}")


def _object(data: bytes) -> Json:
    """A response as a JSON object; empty for anything else, such as the text of vLLM for a loaded adapter."""
    with suppress(InvalidResponse):
        return decode(data)
    return {}


def _why(answer: Json) -> str:
    """The message in a response, by any of the names that servers give it."""
    error = answer.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    found = inner or answer.get("error_message") or answer.get("message") or answer.get("detail")
    return shown(found.encode()) if isinstance(found, str) else ""
