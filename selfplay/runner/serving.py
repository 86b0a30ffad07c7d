"""SGLang or vLLM on a model folder, as a supervised child: started, watched, reloaded, and ended with all it started.

The server listens on loopback alone, leads a process group of its own and is watched by a reaper, so that nothing of
it outlives the trainer however that ends. What it says goes into a log file.
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

from envs.melee.dolphin.launch import last_line
from selfplay.errors import ConfigError, ServerError
from selfplay.policy.language.endpoint import Endpoint, RequestError, client_options, exchange, post
from selfplay.policy.language.wire import ApiFormat, Completions, SGLang
from selfplay.runner.process_reaper import ProcessReaper, kill_group
from selfplay.runner.worker import Worker
from selfplay.supervision import ChildSpec, SupervisorSpec, sleep

if TYPE_CHECKING:
    from selfplay.supervision import Context

HOST: Final = "127.0.0.1"
NAME: Final = "selfplay"
"""What a model is called by a server that was started here, whichever folder it comes from."""
OURS: Final = ("--host", "--port", "--trust-remote-code")
"""Flags of such programs that are not for others to give: who can reach it, and whether it runs code of a model."""
POLL_S: Final = 0.25  # between two looks whether it is ready, or has ended
HEALTH_S: Final = 5.0  # for an answer to whether it is ready
SHUTDOWN_S: Final = 20.0  # for killing it and removing what it left
DEATHS, DEATHS_WITHIN_S = 5, 3600.0
"""A server that dies more often within so many seconds is given up, and the run with it."""
_SHOWN: Final = 300  # characters of the log's last line, in an error


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A program that serves a model folder."""

    name: str
    command: tuple[str, ...]  # with {folder}, {host}, {port} and {name}
    wire: ApiFormat
    health: str = "/health"  # answers with 200 once it is ready
    reload: str | None = None  # is told a new folder; None: it must be started anew for that

    def line(self, folder: Path, port: int, arguments: Sequence[str]) -> list[str]:
        """The command line."""
        words = {"folder": str(folder), "host": HOST, "port": str(port), "name": NAME}
        return [*(part.format_map(words) for part in self.command), *arguments]


def refuse_ours(arguments: Sequence[str]) -> None:
    """Refuse words of a command line that would take a server off loopback, or let a model's folder run code.

    Raises:
        ConfigError: names the first; abbreviations count, since such programs take them.
    """
    for word in arguments:
        flag = word.partition("=")[0].replace("_", "-")
        if any(own.startswith(flag) for own in OURS if len(flag) > len("--p")):
            raise ConfigError(
                f"--server-args {word}: valid are all flags but {', '.join(OURS)}: the server listens to this machine "
                "alone, at a port that is found for it, and runs no code of a model's folder"
            )


def find_program(name: str) -> ServerProgram:
    """What ``--server`` names.

    Raises:
        ConfigError: it is not installed; names the command that installs it.
    """
    place = ("--host", "{host}", "--port", "{port}", "--served-model-name", "{name}")
    if name == "sglang":
        if find_spec("sglang") is None:
            raise ConfigError("--server sglang: SGLang is not installed: pip install 'sglang[all]'")
        start = (sys.executable, "-m", "sglang.launch_server", "--model-path", "{folder}", *place)
        return ServerProgram(name, start, SGLang(), reload="/update_weights_from_disk")
    found = shutil.which("vllm", path=str(Path(sys.executable).parent)) or shutil.which("vllm")
    if found is None:
        raise ConfigError("--server vllm: vLLM is not installed: pip install vllm")
    # Its log-probabilities shall be those of the distribution that is sampled from, which no habit of the model bends.
    like_ours = ("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm")
    return ServerProgram(name, (found, "serve", "{folder}", *place, *like_ours), Completions(NAME, ids=True))


class ReplyServer:
    """A server that is started on a folder, and told of others later.

    All methods but ``where`` are called on the event loop.

    Args:
        program: Which.
        folder: Of the model to begin with.
        log: File that it writes to; what is there stays.
        start_timeout_s: Seconds that it may take to be ready, and to load another folder.
        arguments: More of its command line.
    """

    def __init__(
        self, program: ServerProgram, folder: Path, log: Path, start_timeout_s: float, arguments: Sequence[str] = ()
    ) -> None:
        self._program = program
        self._log = log
        self._start_timeout_s = start_timeout_s
        self._arguments = tuple(arguments)
        self._wanted = _Load(0, folder)
        self._url: str | None = None  # while it serves what is wanted
        self._changed = asyncio.Event()  # what is wanted
        self._serving = asyncio.Event()
        self.pid: int | None = None  # while it runs

    @property
    def endpoint(self) -> Endpoint:
        """For a writer."""
        return Endpoint(f"--server {self._program.name}", self._program.wire, self.where, loopback=True)

    def where(self) -> str | None:
        """Its URL; None while it starts or loads. From any thread."""
        return self._url

    def spec(self) -> ChildSpec:
        """The child: ready when the server is. One that dies is started anew, and its neighbours do not hear of it."""
        child = ChildSpec("server", self._run, shutdown_s=SHUTDOWN_S)
        return ChildSpec("serving", SupervisorSpec(children=(child,), intensity=DEATHS, period_s=DEATHS_WITHIN_S))

    async def reload(self, folder: Path) -> None:
        """Serve another folder from now on; returns once it does. Nobody may be waiting for a reply.

        Raises:
            ServerError: it does not within the time for a start.
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
        processes: list[_Process] = []  # filled in the thread: what starts after we were stopped is ended, too

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
        while not await process.healthy(self._program.health):
            if ctx.clock.time() > deadline:
                raise self._error(f"was not ready within {self._start_timeout_s:g} s")
            await sleep(ctx.clock, POLL_S)

    async def _serve(self, process: _Process, load: _Load) -> None:
        """Watch it until it has to be started anew for what is wanted.

        Raises:
            ServerError: it cannot load what is wanted.
        """
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
    """What a server is wanted to serve; the number tells one folder from the same with other contents."""

    number: int
    folder: Path


class _Ended(Exception):
    """A server process has ended; the message says how."""


class _Process:
    """A server process with its reaper, and the way to it. Made and closed in a worker's thread."""

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
        """Raises _Ended where it has."""
        code = self._process.poll()
        if code is not None:
            raise _Ended(f"signal {-code}" if code < 0 else f"exit code {code}")

    async def healthy(self, path: str) -> bool:
        """Whether it says that it is ready.

        Raises:
            _Ended: it has.
        """
        self.check()
        with suppress(RequestError):
            return (await exchange(self.client, "GET", self.url + path, within_s=HEALTH_S))[0] == httpx.codes.OK
        return False

    async def load(self, path: str, folder: Path) -> None:
        """Have it load another folder.

        Raises:
            RequestError: it did not.
        """
        answer = await post(self.client, self.url + path, {"model_path": str(folder)})
        if answer.get("success") is not True:
            raise RequestError(str(answer.get("message")))

    def close(self) -> None:
        """End it and everything that it has started."""
        kill_group(self.pid)
        self._process.wait()
        self._reaper.close()


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
