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


def _run(words: list[str], variables: dict[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, output and errors; child processes of the program end with it, or with this process."""
    # Files, since a pipe stays open as long as any child process of the program.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, ExitStack() as stack:
        reaper = ProcessReaper()
        stack.callback(reaper.close)
        child = subprocess.Popen(
            words, cwd=reaper.folder, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
        reaper.watch(child.pid)
        try:
            return child.wait(timeout), _text(out), _text(err)
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"it had not ended after {timeout:.0f} s") from error
        finally:
            reaper.close()
            child.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
