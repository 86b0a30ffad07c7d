"""SGLang or vLLM on a model folder as a supervised child: started, watched, reloaded and ended.

The server listens on loopback only. It leads a process group and is watched by a reaper, so that none of its processes
outlives the trainer. Its output goes into a log file.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from selfplay.dialogue.language.endpoint import Endpoint, RequestError, client_options, exchange, post
from selfplay.dialogue.language.wire import ApiFormat, Completions, SGLang
from selfplay.errors import ConfigError, ServerError
from selfplay.games.files import last_line
from selfplay.runner.process_reaper import ProcessReaper, kill_group
from selfplay.runner.worker import Worker
from selfplay.supervision import ChildSpec, SupervisorSpec, sleep

if TYPE_CHECKING:
    from selfplay.supervision import Context

HOST: Final = "127.0.0.1"
NAME: Final = "selfplay"
"""Name of the model in requests, whatever its folder."""
RESERVED: Final = ("--host", "--port", "--trust-remote-code")
"""Flags that users may not set: who can reach the server, and whether it runs code of a model folder."""
POLL_S: Final = 0.25  # between two checks of the process
HEALTH: Final = "/health"  # path that responds with 200 once the server is ready
HEALTH_S: Final = 5.0  # timeout of the health check
SHUTDOWN_S: Final = 20.0  # for killing it and its temporary files
DEATHS, DEATHS_WITHIN_S = 5, 3600.0
"""More deaths than this within so many seconds end the run."""
_SHOWN: Final = 300  # characters of the log's last line, in an error


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A program that serves a model folder."""

    name: str
    command: tuple[str, ...]  # with {folder}, {host}, {port} and {name}
    wire: ApiFormat
    reload: str | None = None  # path that loads another folder; None: restart instead

    def line(self, folder: Path, port: int, arguments: Sequence[str]) -> list[str]:
        words = {"folder": str(folder), "host": HOST, "port": str(port), "name": NAME}
        return [*(part.format_map(words) for part in self.command), *arguments]


def refuse_reserved(arguments: Sequence[str]) -> None:
    """Refuse reserved flags and their abbreviations; the ConfigError names the first."""
    for word in arguments:
        flag = word.partition("=")[0].replace("_", "-")
        if any(own.startswith(flag) for own in RESERVED if len(flag) > len("--p")):
            raise ConfigError(
                f"--server-args {word}: valid are all flags but {', '.join(RESERVED)}: the server listens on a free "
                "port of loopback only, and runs no code of a model folder"
            )


def find_program(name: str) -> ServerProgram:
    """The program of ``--server``; ConfigError with the command that installs it if it is not installed."""
    place = ("--host", "{host}", "--port", "{port}", "--served-model-name", "{name}")
    if name == "sglang":
        if find_spec("sglang") is None:
            raise ConfigError("--server sglang: SGLang is not installed: pip install 'sglang[all]'")
        start = (sys.executable, "-m", "sglang.launch_server", "--model-path", "{folder}", *place)
        return ServerProgram(name, start, SGLang(), reload="/update_weights_from_disk")
    found = shutil.which("vllm", path=str(Path(sys.executable).parent)) or shutil.which("vllm")
    if found is None:
        raise ConfigError("--server vllm: vLLM is not installed: pip install vllm")
    # Log-probabilities of the sampling distribution, without sampling defaults of the model.
    sampling = ("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm")
    return ServerProgram(name, (found, "serve", "{folder}", *place, *sampling), Completions(NAME, ids=True))


class ReplyServer:
    """A server of a model folder, which can load other folders later.

    All methods but ``where`` are called on the event loop.

    Args:
        log: output is appended to this file.
        start_timeout_s: time to start, or to load another folder.
    """

    def __init__(
        self, program: ServerProgram, folder: Path, log: Path, start_timeout_s: float, arguments: Sequence[str] = ()
    ) -> None:
        self._program = program
        self._log = log
        self._start_timeout_s = start_timeout_s
        self._arguments = tuple(arguments)
        self._wanted = _Load(0, folder)
        self._url: str | None = None  # while it serves the wanted folder
        self._changed = asyncio.Event()  # of the wanted folder
        self._serving = asyncio.Event()
        self.pid: int | None = None  # while it runs

    @property
    def endpoint(self) -> Endpoint:
        """The server, for writers."""
        return Endpoint(f"--server {self._program.name}", self._program.wire, self.where, loopback=True)

    def where(self) -> str | None:
        """The URL; None while it starts or loads. From any thread."""
        return self._url

    def spec(self) -> ChildSpec:
        """The child, ready when the server is. A server that dies is restarted without its siblings."""
        child = ChildSpec("server", self._run, shutdown_s=SHUTDOWN_S)
        return ChildSpec("serving", SupervisorSpec(children=(child,), intensity=DEATHS, period_s=DEATHS_WITHIN_S))

    async def reload(self, folder: Path) -> None:
        """Load another folder, and wait until it is served. No request may be in progress.

        Raises:
            ServerError: not within the start timeout.
        """
        self._wanted = _Load(self._wanted.number + 1, folder)
        self._stop_serving()
        self._changed.set()
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await self._serving.wait()
        except TimeoutError:
            raise self._error(f"did not load {folder} within {self._start_timeout_s:g} s") from None

    async def _run(self, ctx: Context) -> None:
        worker = Worker(ctx.id)
        processes: list[_Process] = []  # appended in the thread: one that starts during a stop is ended too

        def start(folder: Path) -> _Process:
            port = free_port()
            line = self._program.line(folder, port, self._arguments)
            processes.append(_Process(line, self._log, f"http://{HOST}:{port}", self._start_timeout_s))
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
                load = self._wanted
                process = await worker.submit(start, load.folder)
                self.pid = process.pid
                async with process.client:
                    try:
                        await self._until_healthy(ctx, process)
                        ctx.ready()
                        await self._serve(process, load)
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

    async def _serve(self, process: _Process, load: _Load) -> None:
        """Watch the server until it has to be restarted for another folder; ServerError if it cannot load that."""
        while True:
            if load != self._wanted:
                if self._program.reload is None:
                    return
                load = self._wanted
                try:
                    await process.load(self._program.reload, load.folder)
                except RequestError as error:
                    process.check()
                    raise self._error(f"did not load {load.folder}: {error}") from error
                continue
            self._changed.clear()
            self._url = process.url
            self._serving.set()
            while not self._changed.is_set():
                process.check()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._changed.wait()

    def _stop_serving(self) -> None:
        self._url = None
        self._serving.clear()

    def _error(self, what: str) -> ServerError:
        return ServerError(f"{self._program.name} {what}; see {self._log}")


@dataclass(frozen=True, slots=True)
class _Load:
    """The wanted folder; the number changes with its contents."""

    number: int
    folder: Path


class _Ended(Exception):
    """A server process has ended; the message says how."""


class _Process:
    """A server process with its reaper and client. Created and closed in a worker's thread."""

    def __init__(self, line: Sequence[str], log: Path, url: str, timeout_s: float) -> None:
        self.url = url
        self.client = httpx.AsyncClient(**client_options(timeout_s, 1, loopback=True))
        self._reaper = ProcessReaper()
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as file:
                self._process = subprocess.Popen(
                    line, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                    env=self._reaper.environment, start_new_session=True,
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

    async def load(self, path: str, folder: Path) -> None:
        """Load another folder; RequestError if that failed."""
        answer = await post(self.client, self.url + path, {"model_path": str(folder)})
        if answer.get("success") is not True:
            raise RequestError(str(answer.get("message")))

    def close(self) -> None:
        kill_group(self.pid)
        self._process.wait()
        self._reaper.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
