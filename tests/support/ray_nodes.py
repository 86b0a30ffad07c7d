"""A Ray cluster of several nodes on this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from selfplay.errors import RunnerError
from tests.support.processes import Process, finish

ROOT: Final = Path(__file__).parents[2]
UP_S: Final = 120.0  # deadline for a node to start
ASK_S: Final = 30.0  # deadline for one answer
STORE_BYTES: Final = 150_000_000
ASK: Final = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False); print(ray.cluster_resources()['CPU'])"


class LocalNodes:
    """A head node and other nodes with a token of their own; each is a process group and can be killed.

    Args:
        folder: For the token and the logs of the nodes.
        session: For their sockets: a short path, removed by ``stop``.
        cpus: Of each node, the head first.
        environment: Of the nodes, to which the cluster's variables are added.

    Raises:
        RunnerError: a node did not start.
    """

    def __init__(self, folder: Path, session: Path, cpus: tuple[int, ...], environment: Mapping[str, str]) -> None:
        self._folder, self._session = folder, session
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = {
            **environment, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self._nodes: list[Process] = []
        try:
            for number, count in enumerate(cpus):
                place = (f"--address={self.address}",)
                first = ("--head", f"--port={port}", f"--temp-dir={session}", "--include-dashboard=false")
                self._start(*(place if number else first), f"--num-cpus={count}")
                self._wait_for(sum(cpus[: number + 1]))
        except BaseException:
            self.stop()
            raise

    def _start(self, *arguments: str) -> None:
        ray = Path(sys.executable).with_name("ray")
        command = [str(ray), "start", *arguments, f"--object-store-memory={STORE_BYTES}", "--block"]
        with (self._folder / f"node-{len(self._nodes)}.log").open("wb") as log:
            self._nodes.append(
                Process([*command, "--disable-usage-stats"], env=self.environment, stdout=log, stderr=log)
            )

    def _wait_for(self, cpus: int) -> None:
        """Wait until the cluster has so many CPUs: the process of a node runs seconds before the cluster counts it."""
        deadline = time.monotonic() + UP_S
        while self._cpus() < cpus:
            if time.monotonic() > deadline or any(node.poll() is not None for node in self._nodes):
                raise RunnerError(f"a node did not start; its log is in {self._folder}")
            time.sleep(0.1)

    def _cpus(self) -> float:
        """CPUs of the cluster; 0 while it does not answer."""
        command = [sys.executable, "-c", ASK, self.address]
        try:
            told = finish(command, check=True, limit_s=ASK_S, env=self.environment)
        except AssertionError:
            return 0.0
        return float(told.stdout.split()[-1])

    def raylets(self) -> list[int]:
        """Ids of the raylet processes of the nodes, the head's first."""
        found = {os.getsid(pid): pid for pid, program in _programs() if program == "raylet" and self._is_ours(pid)}
        return [found[node.pid] for node in self._nodes if node.pid in found]

    def _is_ours(self, pid: int) -> bool:
        return os.getsid(pid) in {node.pid for node in self._nodes}

    def kill(self, number: int) -> None:
        """Kill the raylet of a node, as a crash would."""
        os.kill(self.raylets()[number], signal.SIGKILL)

    def stop(self) -> None:
        """End all processes and remove the session folder."""
        for node in reversed(self._nodes):
            for pid, _ in _programs():
                with suppress(ProcessLookupError):
                    if os.getsid(pid) == node.pid:
                        os.kill(pid, signal.SIGKILL)
            node.end()
        shutil.rmtree(self._session, ignore_errors=True)


def _programs() -> list[tuple[int, str]]:
    """Ids and program names of all processes of this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            program = (folder / "cmdline").read_bytes().partition(b"\0")[0]
            found.append((int(folder.name), Path(program.decode(errors="replace")).name))
    return found
