"""SGLang or vLLM on a model folder as a supervised child: started, watched, given new weights and ended.

The server listens on loopback only. It leads a process group and is watched by a reaper, so that none of its processes
outlives the trainer. Its output goes into a log file.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import httpx

from selfplay.dialogue.language.endpoint import Endpoint, RequestError, client_options, exchange
from selfplay.dialogue.language.updates import NoRouteError, load
from selfplay.dialogue.programs import HOST
from selfplay.errors import ServerError
from selfplay.games.files import last_line
from selfplay.runner.process_reaper import ProcessReaper, kill_group
from selfplay.runner.worker import Worker
from selfplay.supervision import ChildSpec, SupervisorSpec, sleep

if TYPE_CHECKING:
    from selfplay.dialogue.following import ServingFolder
    from selfplay.dialogue.language.routes import Weights
    from selfplay.dialogue.programs import ServerProgram
    from selfplay.supervision import Context

POLL_S: Final = 0.25  # between two checks of the process
HEALTH: Final = "/health"  # path that responds with 200 once the server is ready
HEALTH_S: Final = 5.0  # timeout of the health check
SHUTDOWN_S: Final = 20.0  # for killing it and its temporary files
DEATHS, DEATHS_WITHIN_S = 5, 3600.0
"""More deaths than this within so many seconds end the run."""
_SHOWN: Final = 300  # characters of the log's last line, in an error


class ReplyServer:
    """A server of a model folder, which gets other weights later.

    All methods but ``where`` are called on the event loop.

    Args:
        base: model folder to start it with; a name in place of a folder, if the program takes that.
        weights: to serve: the base itself, or an adapter of it.
        folder: where later weights are written.
        log: output is appended to this file.
        start_timeout_s: time to start, or to load weights.
        environment: additional variables.
    """

    is_behind = False  # it starts with the first weights

    def __init__(
        self,
        program: ServerProgram,
        base: Path,
        weights: Weights,
        folder: ServingFolder,
        log: Path,
        start_timeout_s: float,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._program = program
        self._base = base
        self.folder = folder
        self._log = log
        self._start_timeout_s = start_timeout_s
        self._arguments = tuple(arguments)
        self._environment = environment
        self._wanted = _Load(0, weights)
        self._by_restart = False  # it has no route that loads a whole model
        self._url: str | None = None  # while it serves the wanted weights
        self._changed = asyncio.Event()  # of the wanted weights
        self._serving = asyncio.Event()
        self.pid: int | None = None  # while it runs

    @property
    def endpoint(self) -> Endpoint:
        """The server, for writers."""
        name = f"--server {self._program.name}"
        return Endpoint(name, self._program.wire, self.where, loopback=True, serving=lambda: self._wanted.weights)

    def where(self) -> str | None:
        """The URL; None while it starts or loads. From any thread."""
        return self._url

    def spec(self) -> ChildSpec:
        """The child, ready when the server is. A server that dies is restarted without its siblings."""
        child = ChildSpec("server", self._run, shutdown_s=SHUTDOWN_S)
        return ChildSpec("serving", SupervisorSpec(children=(child,), intensity=DEATHS, period_s=DEATHS_WITHIN_S))

    async def reload(self, weights: Weights) -> None:
        """Load other weights, and wait until they are served. No request may be in progress.

        Raises:
            ServerError: not within the start timeout.
        """
        self._wanted = _Load(self._wanted.number + 1, weights)
        self._stop_serving()
        self._changed.set()
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await self._serving.wait()
        except TimeoutError:
            raise self._error(f"did not load {weights.folder} within {self._start_timeout_s:g} s") from None

    async def _run(self, ctx: Context) -> None:
        worker = Worker(ctx.id)
        processes: list[_Process] = []  # appended in the thread: one that starts during a stop is ended too

        def start(folder: Path) -> _Process:
            port = free_port()
            line = self._program.line(folder, port, self._arguments)
            url = f"http://{HOST}:{port}"
            processes.append(_Process(line, self._log, url, self._start_timeout_s, self._environment))
            return processes[-1]

        def stop() -> None:
            while processes:
                processes.pop().close()

        def kill() -> None:
            for process in processes.copy():
                kill_group(process.pid)

        ctx.on_kill(kill)
        try:
            while True:
                first = self._wanted
                adapted = first.weights.name is not None
                process = await worker.submit(start, self._base if adapted else first.weights.folder)
                self.pid = process.pid
                async with process.client:
                    try:
                        await self._until_healthy(ctx, process)
                        await self._serve(ctx, process, None if adapted else first)
                    except _Ended as ended:
                        said = (await worker.submit(last_line, self._log))[:_SHOWN]
                        raise self._error(f"ended with {ended}{f': {said}' if said else ''}") from None
                await worker.submit(stop)
        finally:
            self._stop_serving()
            self.pid = None
            stopped = worker.submit(stop)
            worker.close()
            await stopped

    async def _until_healthy(self, ctx: Context, process: _Process) -> None:
        deadline = ctx.clock.time() + self._start_timeout_s
        while not await process.healthy():
            if ctx.clock.time() > deadline:
                raise self._error(f"was not ready within {self._start_timeout_s:g} s")
            await sleep(ctx.clock, POLL_S)

    async def _serve(self, ctx: Context, process: _Process, served: _Load | None) -> None:
        """Watch the server until it has to be restarted for other weights; ServerError if it cannot load them."""
        while True:
            if served != self._wanted:
                if self._by_restart:
                    return
                served = await self._load(process, served)
                continue
            self._changed.clear()
            self._url = process.url
            self._serving.set()
            ctx.ready()
            while not self._changed.is_set():
                process.check()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._changed.wait()

    async def _load(self, process: _Process, served: _Load | None) -> _Load | None:
        """Load the wanted weights; returns what is served then."""
        wanted, routes = self._wanted, self._program.wire.routes
        whole = wanted.weights.name is None
        try:
            await load(process.client, process.url, routes, wanted.weights, served.weights if served else None)
        except RequestError as error:
            process.check()
            self._by_restart = whole and (routes.fixed or isinstance(error, NoRouteError))
            if self._by_restart and isinstance(error, NoRouteError):
                return served
            old = "; this version takes no adapters: update it, or leave out --lora-rank"
            hint = old if isinstance(error, NoRouteError) else ""
            raise self._error(f"did not load {wanted.weights.folder}: {error}{hint}") from error
        return wanted

    def _stop_serving(self) -> None:
        self._url = None
        self._serving.clear()

    def _error(self, what: str) -> ServerError:
        return ServerError(f"{self._program.name} {what}; see {self._log}")


@dataclass(frozen=True, slots=True)
class _Load:
    """The wanted weights; the number changes with the contents of their folder."""

    number: int
    weights: Weights


class _Ended(Exception):
    """A server process has ended; the message says how."""


class _Process:
    """A server process with its reaper and client. Created and closed in a worker's thread."""

    def __init__(
        self, line: Sequence[str], log: Path, url: str, timeout_s: float, environment: Mapping[str, str]
    ) -> None:
        self.url = url
        self.client = httpx.AsyncClient(**client_options(timeout_s, 1, loopback=True))
        self._reaper = ProcessReaper()
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as file:
                self._process = subprocess.Popen(
                    line, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                    env={**self._reaper.environment, **environment}, start_new_session=True,
                )  # fmt: skip
        except BaseException:
            self._reaper.close()
            raise
        self._reaper.watch(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raise ``_Ended`` if the process has ended."""
        code = self._process.poll()
        if code is not None:
            raise _Ended(f"signal {-code}" if code < 0 else f"exit code {code}")

    async def healthy(self) -> bool:
        """Return True if the server is ready; ``_Ended`` if its process has ended."""
        self.check()
        with suppress(RequestError):
            return (await exchange(self.client, "GET", self.url + HEALTH, within_s=HEALTH_S))[0] == httpx.codes.OK
        return False

    def close(self) -> None:
        kill_group(self.pid)
        self._process.wait()
        self._reaper.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
