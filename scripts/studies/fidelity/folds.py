"""Cross-validation: each file is scored with tables that were fitted on other files."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.fidelity.measure import Measured, measure
from scripts.studies.fidelity.reconstruct import read_scored
from selfplay_melee import tables as table_files
from selfplay_melee.tables import Tables, load_tables

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

Fit = Callable[[Sequence[Path], Path], None]
TABLES = Path(table_files.__file__).resolve().parent


def split(replays: Sequence[Replay], folds: int) -> list[int]:
    """Fold of each replay: games of the same characters go to different folds; otherwise a hash of the name decides."""

    def place(i: int) -> tuple[list[int], str]:
        name = Path(replays[i].path).name
        return sorted(seat.character for seat in replays[i].seats), hashlib.sha256(name.encode()).hexdigest()

    fold = [0] * len(replays)
    for number, i in enumerate(sorted(range(len(replays)), key=place)):
        fold[i] = number % folds
    return fold


def measure_folds(
    paths: Sequence[Path], folds: int, fit: Fit | None = None, notify: Callable[[str], object] = lambda line: None
) -> list[Measured]:
    """Measure every file with tables fitted on the files of the other folds; ``notify`` gets a line for each fold."""
    replays = [read_scored(path) for path in paths]
    fold = split(replays, folds)
    measured: dict[int, Measured] = {}
    for number in range(folds):
        inside = [i for i in range(len(paths)) if fold[i] == number]
        if inside:
            notify(f"Fold {number + 1} of {folds}: {len(inside)} files, with tables fitted on the others")
            tables = fitted_tables([paths[i] for i in range(len(paths)) if fold[i] != number], fit or _fit)
            measured |= {i: measure(replays[i], tables) for i in inside}
    return [measured[i] for i in range(len(paths))]


def fitted_tables(replays: Sequence[Path], fit: Fit) -> Tables:
    """The tables with what is fitted on these files in place of their own fitted values."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tables"
        shutil.copytree(TABLES, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py", "fitted"))
        (folder / "fitted").mkdir()
        fit(replays, folder)
        return load_tables(folder)


def _fit(replays: Sequence[Path], folder: Path) -> None:
    from scripts.studies.fit_character import fit

    fit(replays, folder)
