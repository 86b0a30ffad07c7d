"""Results of a kill-and-resume test, as a document and as a table for ``docs/trainer/internals/reliability.md``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scripts.studies.kill_resume.kill_test import KillTest, KillTestResult

PAGE: Final = "trainer/internals/reliability.md"
DATA: Final = "kill_resume.json"
ROWS: Final = {
    "kills": "kills (SIGKILL)",
    "in_a_save": "of them in the middle of a save",
    "before_first_state": "of them before the first state",
    "restarts_checked": "restarts with a checked state",
    "orphans": "processes left",
    "set_aside": "generations set aside for lack of a state",
    "iterations": "iterations of the run",
    "ledger_rows": "games in its ledger",
    "faults": "faults",
    "seconds": "seconds",
}


def document(test: KillTest, result: KillTestResult, command: str) -> dict[str, Any]:
    """Settings and figures."""
    return {
        "command": command,
        **measured_here(),
        "seed": test.seed,
        "game": test.game,
        "deterministic": test.deterministic,
        **asdict(result),
    }


def table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """A column for each kind of test, in Markdown."""
    rows = []
    for name, words in ROWS.items():
        cells = [run[name] for run in runs.values()]
        rows.append((words, *(len(cell) if isinstance(cell, list) else f"{cell:,.0f}" for cell in cells)))
    made = [f"{name}: `{run['command']}`, {run['date']}, {run['processor']}" for name, run in runs.items()]
    return "\n".join((markdown(("", *runs), rows), "", *(f"- {line}" for line in made)))


def write(docs: Path, found: Mapping[str, Any]) -> None:
    """Add the figures to those of the other kinds of tests, and show all of them."""
    file = docs / "data" / DATA
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    runs[kind(found)] = dict(found)
    runs = dict(sorted(runs.items()))
    write_json(file, runs)
    put_between(docs / PAGE, "kill_resume", table(runs))


def kind(found: Mapping[str, Any]) -> str:
    """Name of the kind of a test."""
    return f"{found['game']}, deterministic" if found["deterministic"] else str(found["game"])
