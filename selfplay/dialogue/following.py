"""Servers that get the weights of a run: the folder that they read, and a server that runs already.

A server that the run starts is a ``ReplyServer``.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, final

import httpx

from selfplay.checkpoint.store import fill_folder
from selfplay.dialogue.language.endpoint import RequestError, client_options
from selfplay.dialogue.language.routes import Weights
from selfplay.dialogue.language.updates import check_routes, load
from selfplay.errors import ConfigError, ServerError

if TYPE_CHECKING:
    from selfplay.dialogue.language.endpoint import Endpoint
    from selfplay.dialogue.language.model import LanguageModel

WAIT_S: Final = 5.0  # between two attempts to reach a server
_MODEL: Final = "model"


@dataclass(slots=True)
class ServingFolder:
    """Where a run writes weights for its server: a whole model always in one folder, adapters in one folder each."""

    path: Path
    _session: str = field(default_factory=lambda: token_hex(4))  # a server may have adapters of earlier sessions
    _number: int = 0

    def write(self, model: LanguageModel) -> Weights:
        """Write the current weights: the whole model, or its adapter alone. Blocks; CheckpointError if that failed."""
        if model.adapter is None:
            return Weights(fill_folder(self.path / _MODEL, model.save_for_server, replace=True))
        if not self._number:
            shutil.rmtree(self.path, ignore_errors=True)  # of an earlier session
        self._number += 1
        name = f"selfplay-{self._session}-{self._number}"
        return Weights(fill_folder(self.path / name, model.save_for_server, replace=True), name)

    def keep_only(self, weights: Weights) -> None:
        """Delete the others. Blocks."""
        for folder in self.path.iterdir():
            if folder != weights.folder:
                shutil.rmtree(folder, ignore_errors=True)


def rank_of(model: LanguageModel) -> int:
    """Rank of the adapter of a model; 0 without one."""
    if model.adapter is None:
        return 0
    config = model.adapter.peft_config[model.adapter.active_adapter]
    return max(int(rank) for rank in (config.r, *config.rank_pattern.values()))


def check_follows(endpoint: Endpoint, rank: int, timeout_s: float) -> None:
    """Refuse a server that does not take an adapter of this rank, or a whole model if it is 0.

    Blocks, and must not be called in an event loop. The ConfigError says why, and what to set.
    """
    routes = endpoint.wire.routes
    if not rank and routes.fixed:
        raise ConfigError(
            f"--server-url {endpoint.name}: {routes.name} reads a whole model only from the folder that it was started "
            "with: --server vllm starts one so; --lora-rank sends an adapter; --server-frozen trains without"
        )

    async def check(url: str) -> None:
        async with _client(endpoint, timeout_s) as client:
            await check_routes(client, url, routes, adapter=rank > 0)

    url = endpoint.where()
    try:
        if url is not None:
            asyncio.run(check(url))
    except RequestError as error:
        raise ConfigError(_refusal(endpoint, rank, str(error))) from error


@final
class UrlServer:
    """A server that runs already, on a machine that sees the folder of the run, and gets its weights.

    Args:
        rank: of the adapter that is trained; 0: the whole model is.
        timeout_s: of one load.
        patience_s: until a server that is away must be back.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        folder: ServingFolder,
        rank: int,
        timeout_s: float,
        patience_s: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.endpoint = replace(endpoint, serving=lambda: self._served)
        self.folder = folder
        self._rank = rank
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._sleep = sleep
        self._served: Weights | None = None

    @property
    def is_behind(self) -> bool:
        """Whether it was not sent any weights yet."""
        return self._served is None

    async def reload(self, weights: Weights) -> None:
        """Have it load weights, while no request is in progress.

        Raises:
            ServerError: it refused, or was away for too long.
        """
        async with _client(self.endpoint, self._timeout_s) as client:
            waited = 0.0
            while True:
                try:
                    await load(client, self.endpoint.where() or "", self.endpoint.wire.routes, weights, self._served)
                except RequestError as error:
                    if not error.retryable or waited >= self._patience_s:
                        raise ServerError(_refusal(self.endpoint, self._rank, str(error))) from error
                else:
                    break
                await self._sleep(WAIT_S)
                waited += WAIT_S
        self._served = weights


def _client(endpoint: Endpoint, timeout_s: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(**client_options(timeout_s, 1, endpoint.loopback))


def _refusal(endpoint: Endpoint, rank: int, why: str) -> str:
    routes = endpoint.wire.routes
    variables = [f"{name}={value}" for name, value in routes.variables(adapter=rank > 0).items()]
    words = [*variables, *(routes.flags(rank) if rank else ())]
    start = f": a {routes.name} server takes them if it is started with {' '.join(words)}" if words else ""
    return f"--server-url {endpoint.name} does not take the weights ({why}){start}; --server-frozen trains without"
