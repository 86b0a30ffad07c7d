"""Measure how closely the mock follows real replays: the fidelity score of .slp files."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.command_line import Command, tell_error
from scripts.studies.fidelity.figures import of_file
from scripts.studies.fidelity.folds import measure_folds
from scripts.studies.fidelity.measure import measure
from scripts.studies.fidelity.reconstruct import read_scored
from scripts.studies.fidelity.report import report
from scripts.studies.fidelity.table import character_summary, character_text, closeness, summary, text
from scripts.studies.pages import put_between
from selfplay.checkpoint.store import write_file
from selfplay.compilation.progress import RANGE
from selfplay.errors import ConfigError
from selfplay.report.saving import check_writable
from selfplay.report.ticker import time_left
from selfplay_melee.errors import ReplayError
from selfplay_melee.replay import read_replay
from selfplay_melee.replays.folder import replay_files

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scripts.studies.fidelity.measure import Measured


def draw(path: Path, files: Sequence[Measured]) -> None:
    """Draw the curves of ``closeness``, one for each character."""
    shares = closeness([file for file in files if file.judged])
    curves = [Curve(name, list(range(len(share))), [100 * x for x in share]) for name, share in shares.items()]
    plot = Plot(curves, "frames played by the mock alone", "movement windows within 0.1 units, %")
    path.write_text(lines(plot), encoding="utf-8")


def main() -> int:
    command = Command("check_mock", __doc__)
    command.add_argument("replays", nargs="+", type=Path, metavar="REPLAY", help=".slp file, or a folder of them")
    command.add_argument(
        "--folds", type=int, default=0, metavar="K", help="score each K-th part with tables fitted on the other parts"
    )
    command.add_argument(
        "--characters", action="store_true", help="one row per character and file only; --page has a place of its own"
    )
    command.add_argument("--json", action="store_true", help="print the score as JSON and nothing else")
    command.add_argument(
        "--page", type=Path, metavar="FILE", help="put the main tables between the markers of this page"
    )
    command.add_argument("--tables", type=Path, metavar="TXT", help="write all tables into this file")
    command.add_argument("--picture", type=Path, metavar="SVG", help="draw how long the windows stay close")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Measure, print and draw."""
    for path in filter(None, (options.page, options.tables, options.picture)):
        check_writable(path)
    paths = [path for place in options.replays for path in _readable(place)]
    try:
        files = measure_folds(paths, options.folds, notify=tell_error) if options.folds else _measured(paths)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    made = report(files, options.folds)
    shown = character_text(made) if options.characters else text(made)
    print(json.dumps(made, indent=1) if options.json else shown)
    if options.page:
        main_tables = character_summary(made) if options.characters else summary(made)
        put_between(options.page, "characters" if options.characters else "fidelity", main_tables)
    if options.tables:
        write_file(options.tables, f"{shown}\n".encode())
    if options.picture:
        draw(options.picture, files)


def _readable(place: Path) -> list[Path]:
    """A file, or the files of a folder that can be read, checked before anything compiles.

    Raises:
        ReplayError: the file cannot be read.
        ConfigError: the folder has no file that can be read.
    """
    found = []
    for path in replay_files(place):
        try:
            read_replay(path)
            found.append(path)
        except ReplayError as error:
            if path == place:
                raise
            tell_error(f"left out: {error}")
    if not found:
        raise ConfigError(f"{place}: no file can be read")
    return found


def _measured(paths: Sequence[Path]) -> list[Measured]:
    """Measure files, with a line after each."""
    tell_error(f"Measuring {len(paths)} files; the rules of the score are compiled once before, {RANGE}")
    files: list[Measured] = []
    started = time.monotonic()
    for path in paths:
        files.append(measure(read_scored(path)))
        if len(files) == 1:
            started = time.monotonic()  # without the compilation
        same = of_file(files[-1])["all_same_actions"]
        about = "does not count" if same is None or not files[-1].judged else f"{same:.1%} of all windows same"
        left = time_left(time.monotonic() - started, len(files) - 1, len(paths) - 1)
        tell_error(f"{files[-1].name}: {about}; {len(files)} of {len(paths)} files{left}")
    return files


if __name__ == "__main__":
    sys.exit(main())
