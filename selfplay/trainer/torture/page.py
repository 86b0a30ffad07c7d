"""What an ordeal found, as a document and as a table for ``docs/reliability.md``."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.store import write_file
from selfplay.trainer.machine import processor, usable_cores
from selfplay.trainer.pages import put_between

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from selfplay.trainer.torture.ordeal import Ordeal, Outcome

PAGE: Final = "reliability.md"
DATA: Final = "torture.json"
ROWS: Final = {
    "kills": "kills (SIGKILL)",
    "in_a_save": "of them in the middle of a save",
    "before_first_state": "of them before there was a first state",
    "restarts_checked": "restarts that said where they went on from",
    "orphans": "processes left behind",
    "set_aside": "generations saved without their state, and set aside",
    "iterations": "iterations of the run",
    "ledger_rows": "games in its ledger",
    "faults": "faults",
    "seconds": "seconds",
}


def document(ordeal: Ordeal, outcome: Outcome, command: str) -> dict[str, Any]:
    """Figures, and how they were made."""
    return {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "cores": usable_cores(),
        "seed": ordeal.seed,
        "game": ordeal.game,
        "deterministic": ordeal.deterministic,
        **asdict(outcome),
        "moments": dict(outcome.moments),
    }


def table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """A column for each kind of ordeal."""
    lines = [f"| | {' | '.join(runs)} |", f"|---|{'---|' * len(runs)}"]
    for name, words in ROWS.items():
        cells = [run[name] for run in runs.values()]
        shown = [str(len(cell)) if isinstance(cell, list) else f"{cell:,.0f}" for cell in cells]
        lines.append(f"| {words} | {' | '.join(shown)} |")
    made = [f"{name}: `{run['command']}`, {run['date']}, {run['processor']}" for name, run in runs.items()]
    return "\n".join((*lines, "", *(f"- {line}" for line in made)))


def write(docs: Path, found: Mapping[str, Any]) -> None:
    """Keep an ordeal's figures beside those of the other kinds, and show all of them."""
    file = docs / "data" / DATA
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    runs[kind(found)] = dict(found)
    runs = dict(sorted(runs.items()))
    write_file(file, f"{json.dumps(runs, indent=1)}\n".encode())
    put_between(docs / PAGE, "torture", table(runs))


def kind(found: Mapping[str, Any]) -> str:
    """Which ordeals are told apart."""
    return f"{found['game']}, deterministic" if found["deterministic"] else str(found["game"])
