"""Programs of others and of our own: how they are called, and what they answered."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.errors import boundary
from selfplay.peers.jobs import iterations_of, job_of, session_of
from selfplay.peers.programs.job import as_argument
from selfplay.peers.venvs import Peer, PeerError, environment, last_error

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
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                words, cwd=folder, env=variables, capture_output=True, text=True, errors="replace",
                stdin=subprocess.DEVNULL, timeout=timeout,
            )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"it had not ended after {timeout:.0f} s") from error
    if done.returncode:
        raise PeerError(last_error(done.stdout + "\n" + done.stderr))
    with boundary(PeerError, "its last line is no answer"):
        values = json.loads(done.stdout.strip().splitlines()[-1])
        return Answer(values["total"], values["rollout"], values["update"], values["version"])
