"""Finds the run that a user names on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.errors import NotARunError
from selfplay.league.ledger import FILE_NAME

RUN_FILE: Final = "run.json"


def runs_under(root: Path = CHECKPOINTS) -> list[Path]:
    """Run folders directly under ``root``, most recently written first."""
    found = [path.parent for path in root.glob(f"*/{RUN_FILE}")]
    return sorted(found, key=lambda run: (-_written(run), run.name))


def _written(run: Path) -> int:
    return max(path.stat().st_mtime_ns for path in (run / RUN_FILE, run / FILE_NAME) if path.exists())


def resolve_run(name: str | None, files: Sequence[str] = (RUN_FILE,), root: Path = CHECKPOINTS) -> Path:
    """The folder for a path, a name under ``root``, or None for the newest run.

    A named folder must contain one of ``files``.

    Raises:
        NotARunError: no such run; the message lists existing ones.
    """
    runs = runs_under(root)
    if name is None:
        if not runs:
            raise NotARunError(f"no run under {root}; train one first")
        return runs[0]
    for folder in (Path(name), root / name):
        if any((folder / file).is_file() for file in files):
            return folder
    there = ", ".join(run.name for run in runs[:8]) or "none"
    raise NotARunError(f"{name} holds no run (no {' or '.join(files)} in it); runs under {root}: {there}")
