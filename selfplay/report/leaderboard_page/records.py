"""Reads settings, summary and metrics of a run for the page.

Unreadable files are treated as missing, so that a damaged run, or one of another version, still gets a page.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from selfplay.games.files import parse_json, read_plain
from selfplay.report.health import WINDOW, HealthFinding, HealthMonitor

JsonRow = dict[str, Any]
MAX_BYTES: Final = 2**28  # 200,000 iterations
LARGEST: Final = 2**63  # figure of a row; sums of larger ones might not be finite


@dataclass(frozen=True, slots=True)
class RunRecords:
    """Documents of a run; empty if missing."""

    run: JsonRow  # run.json
    summary: JsonRow  # summary.json: written when the run ends
    metrics: tuple[JsonRow, ...]  # metrics.jsonl: by iteration, as ``IterationReport.flat`` names the figures

    @classmethod
    def of(cls, folder: Path) -> Self:
        metrics = tuple(row for row in _parsed(_text(folder / "metrics.jsonl").splitlines()) if can_be_drawn(row))
        return cls(_document(folder / "run.json"), _document(folder / "summary.json"), metrics)

    @property
    def ended(self) -> bool:
        """True if the run has ended. Metrics beyond the summary mean that it was resumed."""
        last = self.metrics[-1]["iteration"] if self.metrics else 0
        return isinstance(self.summary.get("iteration"), int) and self.summary["iteration"] >= last

    @property
    def steps_per_iteration(self) -> int | None:
        """Steps over all games, from the configuration or else from the metrics; None if unknown."""
        match self.run:
            case {"config": {"run": {"num_games": int(games)}, "ppo": {"rollout_length": int(length)}}}:
                return games * length
        if self.metrics and isinstance(total := self.metrics[-1].get("total_steps"), int):
            return max(0, total // max(1, self.metrics[-1]["iteration"])) or None
        return None

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """First and last iteration of each gap in the metrics.

        A row is written after the checkpoint of its iteration, so a kill between the two loses the row.
        """
        there = (0, *(row["iteration"] for row in self.metrics))
        return [(one + 1, other - 1) for one, other in itertools.pairwise(there) if other > one + 1]

    def health(self, monitor: HealthMonitor) -> tuple[HealthFinding, ...] | None:
        """Problems of the run; None if unknown.

        They are taken from the summary of an ended run, else a new ``monitor`` finds them in the last iterations.
        """
        if self.ended and isinstance(said := self.summary.get("health"), list):
            return tuple(
                HealthFinding(str(one.get("name")), str(one.get("text"))) for one in said if isinstance(one, dict)
            )
        for row in self.metrics[-WINDOW:]:
            monitor.observe(row)
        return monitor.findings() if self.metrics else None


def can_be_drawn(row: JsonRow) -> bool:
    whole = isinstance(row.get("iteration"), int) and isinstance(row.get("total_steps", 0), int)
    return whole and all(abs(value) < LARGEST for value in row.values() if isinstance(value, int | float))


def _document(path: Path) -> JsonRow:
    return next(iter(_parsed([_text(path)])), {})


def _text(path: Path) -> str:
    try:
        return read_plain(path, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(texts: list[str]) -> list[JsonRow]:
    found = []
    for text in texts:
        try:
            value = parse_json(text)
        except ValueError:  # a torn last line, or no such file
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
