"""Run the programs of all trainers and read their answers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from scripts.studies.rivals.jobs import iterations_of, job_of, session_of
from scripts.studies.rivals.programs.job import as_argument
from scripts.studies.rivals.venvs import Peer, PeerError, environment, last_error
from selfplay.errors import boundary
from selfplay.runner.process_reaper import ProcessReaper

OURS: Final = "selfplay"
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Way:
    """Threads and variant of a program."""

    threads: int
    variant: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A trainer: a peer with its interpreter, or our own loop if ``peer`` is None."""

    peer: Peer | None
    python: Path
    seats: int = 2

    @property
    def name(self) -> str:
        return OURS if self.peer is None else self.peer.name

    def command(self, games: int, way: Way, weights: Path) -> list[str]:
        if self.peer is None:
            return [str(self.python), "-m", "scripts.studies.rivals.ours", str(games), str(1 + iterations_of(games))]
        job = job_of(
            session_of(games), weights, seats=self.seats, threads=way.threads, iterations=1 + iterations_of(games),
            variant=way.variant,
        )  # fmt: skip
        return [str(self.python), "-m", f"scripts.studies.rivals.programs.{self.peer.module}", as_argument(job)]

    def variables(self, way: Way) -> dict[str, str]:
        """Environment variables of a sample."""
        return environment(None) if self.peer is None else environment(way.threads, self.python.parents[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds of the iterations of a sample, and the version of the trainer."""

    seconds: list[float]
    version: str


def ask(words: list[str], variables: dict[str, str], timeout: float = HOUR) -> Answer:
    """Run a program to its end in a temporary folder, since some leave files where they run; its last line. Blocks.

    Raises:
        PeerError: it failed, took too long or printed no answer; with its last error message.
    """
    code, out, err = _run(words, variables, timeout)
    if code:
        raise PeerError(last_error(out + "\n" + err))
    with boundary(PeerError, "its last line is no answer"):
        return Answer(**json.loads(out.strip().splitlines()[-1]))


class Program:
    """A running program in a temporary folder; its child processes end with it, or with this process.

    Args:
        words: Its command.
        variables: Its environment.
    """

    def __init__(self, words: list[str], variables: dict[str, str]) -> None:
        with ExitStack() as stack:
            # Files, since a pipe stays open as long as any child process of the program.
            self._out, self._err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            self._reaper = ProcessReaper()
            stack.callback(self._reaper.close)
            self._child = subprocess.Popen(
                words, cwd=self._reaper.folder, env=variables, stdin=subprocess.DEVNULL, stdout=self._out,
                stderr=self._err, start_new_session=True,
            )  # fmt: skip
            self._reaper.watch(self._child.pid)
            self._stack = stack.pop_all()

    @property
    def ended(self) -> bool:
        return self._child.poll() is not None

    def wait(self, timeout: float) -> None:
        """Wait for its end. Blocks; PeerError if it takes longer."""
        try:
            self._child.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"it had not ended after {timeout:.0f} s") from error

    def close(self) -> tuple[int, str, str]:
        """End it, if it has not ended; exit code, output and errors."""
        with self._stack:
            self._reaper.close()
            return self._child.wait(), _text(self._out), _text(self._err)


def _run(words: list[str], variables: dict[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    program = Program(words, variables)
    try:
        program.wait(timeout)
    finally:
        answer = program.close()
    return answer


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
