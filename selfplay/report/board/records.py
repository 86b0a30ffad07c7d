"""What a run leaves behind beside its ledger, read for a page: settings, end, and the figures of each iteration.

A page of a run that is damaged or of another version is still worth having, so that what cannot be read is absent here
and never an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from pydantic import ValidationError

from envs.files import parse_json, read_plain
from selfplay.report.dialogue_health import DialogueHealth
from selfplay.report.health import WINDOW, Finding, Health, Report, Watch
from selfplay.report.metrics import IterationReport

Row = dict[str, Any]
MAX_BYTES: Final = 2**28  # 200,000 iterations


@dataclass(frozen=True, slots=True)
class Records:
    """Documents of a run; empty where there are none."""

    run: Row  # run.json
    summary: Row  # summary.json: written when the run ends
    metrics: tuple[Row, ...]  # metrics.jsonl: by iteration, as ``IterationReport.flat`` names the figures

    @classmethod
    def of(cls, folder: Path) -> Self:
        """What lies in the folder of a run."""
        metrics = tuple(row for row in _rows(folder / "metrics.jsonl") if isinstance(row.get("iteration"), int))
        return cls(_document(folder / "run.json"), _document(folder / "summary.json"), metrics)

    @property
    def of_words(self) -> bool:
        """Whether it is a run of a game of words."""
        return self.run.get("family") == "dialogue"

    @property
    def ended(self) -> bool:
        """Whether the summary is about all that was played: a run that goes on has metrics beyond it."""
        last = self.metrics[-1]["iteration"] if self.metrics else 0
        return isinstance(self.summary.get("iteration"), int) and self.summary["iteration"] >= last

    @property
    def steps_per_iteration(self) -> int | None:
        """Over all games, from what was asked for; else from what was done; None where neither is known."""
        config = self.run.get("config")
        if isinstance(config, dict):
            games, length = config.get("run", {}).get("num_games"), config.get("ppo", {}).get("rollout_length")
            if isinstance(games, int) and isinstance(length, int):
                return games * length
        if self.metrics and isinstance(total := self.metrics[-1].get("total_steps"), int):
            return round(total / self.metrics[-1]["iteration"]) or None
        return None

    def health(self) -> tuple[Finding, ...] | None:
        """What was wrong at the end, or is now; None where that cannot be told.

        The summary of a run that ended says it; otherwise the rules are asked about its last iterations.
        """
        if self.ended and isinstance(said := self.summary.get("health"), list):
            return tuple(Finding(str(one.get("name")), str(one.get("text"))) for one in said if isinstance(one, dict))
        if self.of_words:
            return _watched(DialogueHealth(), self.metrics[-WINDOW:])
        reports = [report for row in self.metrics[-WINDOW:] if (report := _report(row)) is not None]
        return _watched(Health(), reports)


def _watched(health: Watch[Report], reports: Sequence[Report]) -> tuple[Finding, ...] | None:
    for report in reports:
        health.observe(report)
    return health.findings() if reports else None


def _report(row: Row) -> IterationReport | None:
    """The part of a report that health is judged by; None where a figure of it was not finite."""
    names = ("entropy", "approx_kl", "clip_fraction", "explained_variance", "grad_norm", "skipped")
    update = {name: row.get(f"losses/{name}") for name in names}
    losses = {f"{name}_loss": row.get(f"losses/{name}") for name in ("policy", "value")}
    try:
        return IterationReport.model_validate(
            {
                "iteration": row["iteration"],
                "iterations": None,
                "steps": 0,
                "total_steps": row.get("total_steps", 0),
                "timesteps": None,
                "experiences": 0,
                "phase_s": {},
                "update": {
                    **update,
                    **losses,
                    "loss": row.get("losses/total"),
                    "learning_rate": row.get("charts/learning_rate"),
                },
                "play": {"episodes": row.get("play/episodes", 0), "draws": row.get("play/draws", 0)},
                "zero_sum_error": row.get("reward/zero_sum_error"),
                "restarts": row.get("runners/restarts", 0),
            }
        )
    except ValidationError:
        return None


def _document(path: Path) -> Row:
    return next(iter(_parsed([_text(path)])), {})


def _rows(path: Path) -> list[Row]:
    return _parsed(_text(path).splitlines())


def _text(path: Path) -> str:
    try:
        return read_plain(path, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(texts: list[str]) -> list[Row]:
    found = []
    for text in texts:
        try:
            value = parse_json(text)
        except ValueError:  # a torn last line, or no such file
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
