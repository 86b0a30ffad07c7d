"""Measure how closely the mock follows real replays: the fidelity score of .slp files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envs.melee.replay import read_replay
from scripts.studies.command_line import Command
from scripts.studies.curves import Curve, svg
from scripts.studies.fidelity.score import measure, report
from scripts.studies.fidelity.table import closeness, text
from scripts.studies.pages import put_between
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scripts.studies.fidelity.score import Measured


def draw(path: Path, files: Sequence[Measured]) -> None:
    """Draw the curves of ``closeness``, one for each character."""
    shares = closeness([file for file in files if file.judged])
    curves = [Curve(name, list(range(len(share))), [100 * x for x in share]) for name, share in shares.items()]
    path.write_text(svg(curves, "frames played by the mock alone", "% of movement windows within 0.1 units"))


def main() -> int:
    """Run the command; the exit code."""
    command = Command("check_mock", __doc__)
    command.add_argument("replays", nargs="+", type=Path, metavar="REPLAY", help=".slp file")
    command.add_argument("--json", action="store_true", help="print the score as JSON and nothing else")
    command.add_argument("--page", type=Path, metavar="FILE", help="put the tables between the markers of this page")
    command.add_argument("--picture", type=Path, metavar="SVG", help="draw how long the windows stay close")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Measure, print and draw."""
    try:
        files = [measure(read_replay(path)) for path in options.replays]
    except ValueError as error:
        raise ConfigError(str(error)) from error
    print(json.dumps(report(files), indent=1) if options.json else text(files))
    if options.page:
        put_between(options.page, "fidelity", text(files))
    if options.picture:
        draw(options.picture, files)


if __name__ == "__main__":
    sys.exit(main())
