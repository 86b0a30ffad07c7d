"""The job of a program, as JSON on its command line, and its answer, as JSON on its last line of output."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """One training; coefficients are named as on our command line.

    ``weights`` is an .npz file of the first weights with the names of our network.
    """

    games: int
    seats: int  # learning seats, 1 or 2
    threads: int
    iterations: int
    rollout: int
    epochs: int
    minibatch: int  # rows, no more than an iteration collects
    gamma: float
    gae_lambda: float
    clip: float
    learning_rate: float
    value_clip: float
    value_coefficient: float  # of half the squared error
    entropy_coefficient: float
    max_grad_norm: float
    hidden: tuple[int, ...]
    weights: str
    game: dict[str, Any]  # options of ``MockMelee``
    seed: int = 0
    variant: str = ""  # of a program that has several

    @property
    def streams(self) -> int:
        """Rows of the environment."""
        return self.games * self.seats

    @property
    def rows(self) -> int:
        """Agent-steps of an iteration."""
        return self.streams * self.rollout

    @property
    def steps(self) -> int:
        """Agent-steps of the whole job."""
        return self.rows * self.iterations


def asked() -> Job:
    """The job on the command line."""
    values = json.loads(sys.argv[1])
    return Job(**{**values, "hidden": tuple(values["hidden"])})


def as_argument(job: Job) -> str:
    """The job as an argument of a program."""
    return json.dumps(asdict(job))


@dataclass(slots=True)
class Laps:
    """Seconds of iterations."""

    seconds: list[float] = field(default_factory=list)
    _began: float = 0.0

    def begin(self) -> None:
        self._began = time.perf_counter()

    def end(self) -> None:
        self.seconds.append(time.perf_counter() - self._began)

    def answer(self, version: str) -> None:
        """Print the times as the last line."""
        sys.stdout.write("\n" + json.dumps({"version": version, "seconds": self.seconds}) + "\n")
        sys.stdout.flush()
