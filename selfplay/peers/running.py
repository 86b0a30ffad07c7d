"""Programs of others and of our own: how they are called, and what they answered."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from selfplay.errors import boundary
from selfplay.peers.jobs import iterations_of, job_of, session_of
from selfplay.peers.programs.job import as_argument
from selfplay.peers.venvs import Peer, PeerError, environment, last_error
from selfplay.runner.keeper import Keeper

OURS: Final = "selfplay"
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Way:
    """How a program is run: so many threads of its libraries, and which of its variants."""

    threads: int
    variant: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A trainer as it is measured: a peer with its interpreter, or ours where there is none."""

    peer: Peer | None
    python: Path
    seats: int = 2

    @property
    def name(self) -> str:
        """Of the trainer."""
        return OURS if self.peer is None else self.peer.name

    def command(self, games: int, way: Way, weights: Path) -> list[str]:
        """One sample."""
        if self.peer is None:
            return [str(self.python), "-m", "selfplay.peers.ours", str(games), str(1 + iterations_of(games))]
        iterations = 1 + iterations_of(games)
        job = job_of(
            session_of(games),
            weights,
            seats=self.seats,
            threads=way.threads,
            iterations=iterations,
            variant=way.variant,
        )
        return [*program(self.peer, self.python), as_argument(job)]

    def variables(self, way: Way) -> dict[str, str]:
        """Environment of a sample."""
        return environment(None) if self.peer is None else environment(way.threads, self.python.parents[1])


def ours() -> System:
    """This project's loop."""
    return System(None, Path(sys.executable))


def program(peer: Peer, python: Path) -> list[str]:
    """The words that start a peer's program; its job follows."""
    return [str(python), "-m", f"selfplay.peers.programs.{peer.module}"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds of the counted iterations of a sample, and what was measured."""

    total: list[float]
    rollout: list[float]
    update: list[float]
    version: str


def ask(words: list[str], variables: dict[str, str], timeout: float = HOUR) -> Answer:
    """Run a program to its end, in a folder of its own: some leave things where they run. Blocks.

    Raises:
        PeerError: it failed, took too long or answered nothing; in its own last words.
    """
    code, said, complained = _run(words, variables, timeout)
    if code:
        raise PeerError(last_error(said + "\n" + complained))
    with boundary(PeerError, "its last line is no answer"):
        values = json.loads(said.strip().splitlines()[-1])
        return Answer(values["total"], values["rollout"], values["update"], values["version"])


def _run(words: list[str], variables: dict[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, output and errors; whatever the program has started ends with it, or with this process."""
    # Files, as a pipe would stay open for as long as anything that the program has started lives.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, ExitStack() as stack:
        keeper = Keeper()
        stack.callback(keeper.close)
        child = subprocess.Popen(
            words, cwd=keeper.folder, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
        keeper.watch(child.pid)
        try:
            return child.wait(timeout), _text(out), _text(err)
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"it had not ended after {timeout:.0f} s") from error
        finally:
            keeper.close()
            child.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
