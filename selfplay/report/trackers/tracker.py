"""The base class of trackers: Weights & Biases, trackio, and trackers of one's own (``selfplay.Tracker``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run, as its trackers see it.

    Attributes:
        id: Of the run, the same after ``--resume``.
        folder: Of the run.
        config: All settings by group and name, with secrets hidden.
        resumed_at: Total steps of the checkpoint that the run resumes from; None for a new run.
    """

    id: str
    folder: Path
    config: dict[str, Any]
    resumed_at: int | None = None

    @property
    def name(self) -> str:
        return self.folder.name


class Tracker:
    """Gets the records of a run; override what is wanted. Made without arguments.

    All methods are called in one thread of their own, in order. An error costs one record and never ends the run.
    ``step`` is the run's total steps; it goes back where a run repeats iterations after a crash.
    """

    def start(self, run: TrackedRun) -> str | None:
        """Called first; may return a line for the user, such as where the records are."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """The figures of an iteration by tag, as in metrics.jsonl. All are finite."""

    def table(self, step: int, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """The ratings, after each new fit."""

    def video(self, step: int, name: str, path: Path) -> None:
        """A film of a fight, a GIF."""

    def policy(self, step: int, name: str, folder: Path) -> None:
        """The folder of the newest policy, at the end of the run or of a session of it."""

    def close(self) -> None:
        """Called last, also after errors."""
