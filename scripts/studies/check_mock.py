"""Measure how closely the mock follows real replays: the fidelity score of .slp files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.command_line import Command
from scripts.studies.fidelity.folds import measure_folds
from scripts.studies.fidelity.measure import measure
from scripts.studies.fidelity.reconstruct import read_scored
from scripts.studies.fidelity.report import report
from scripts.studies.fidelity.table import character_text, closeness, text
from scripts.studies.pages import put_between
from selfplay.errors import ConfigError

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
    """Run the command; the exit code."""
    command = Command("check_mock", __doc__)
    command.add_argument("replays", nargs="+", type=Path, metavar="REPLAY", help=".slp file")
    command.add_argument(
        "--folds", type=int, default=0, metavar="K", help="score each K-th part with tables fitted on the other parts"
    )
    command.add_argument(
        "--characters", action="store_true", help="one row per character and file only; --page has a place of its own"
    )
    command.add_argument("--json", action="store_true", help="print the score as JSON and nothing else")
    command.add_argument("--page", type=Path, metavar="FILE", help="put the tables between the markers of this page")
    command.add_argument("--picture", type=Path, metavar="SVG", help="draw how long the windows stay close")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Measure, print and draw."""
    try:
        if options.folds:
            files = measure_folds(options.replays, options.folds)
        else:
            files = [measure(read_scored(path)) for path in options.replays]
    except ValueError as error:
        raise ConfigError(str(error)) from error
    made = report(files, options.folds)
    shown = character_text(made) if options.characters else text(made)
    print(json.dumps(made, indent=1) if options.json else shown)
    if options.page:
        put_between(options.page, "characters" if options.characters else "fidelity", shown)
    if options.picture:
        draw(options.picture, files)


if __name__ == "__main__":
    sys.exit(main())
