"""Measure how closely the mock follows real replays: the fidelity score of .slp files."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from envs.errors import GameError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envs.melee.fidelity.score import Measured


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="check_mock.py", description=__doc__)
    made.add_argument("replays", nargs="+", type=Path, metavar="REPLAY", help=".slp file")
    made.add_argument("--json", action="store_true", help="print the score as JSON and nothing else")
    made.add_argument("--page", type=Path, metavar="FILE", help="put the tables between the markers of this page")
    made.add_argument("--picture", type=Path, metavar="SVG", help="draw how long the windows stay close")
    return made


def draw(path: Path, files: Sequence[Measured]) -> None:
    """The curves of ``table.closeness``, a character each."""
    from envs.melee.fidelity.table import closeness
    from selfplay.report.curves import Curve, svg

    shares = closeness([file for file in files if file.judged])
    curves = [Curve(name, list(range(len(share))), [100 * x for x in share]) for name, share in shares.items()]
    path.write_text(svg(curves, "frames played by the mock alone", "% of movement windows within 0.1 units"))


def main() -> int:
    """Measure, print, draw; the exit code."""
    options = parser().parse_args()
    from envs.melee.fidelity.score import measure, report
    from envs.melee.fidelity.table import text
    from envs.melee.replay import read_replay
    from selfplay.trainer.pages import put_between

    try:
        files = [measure(read_replay(path)) for path in options.replays]
        print(json.dumps(report(files), indent=1) if options.json else text(files))
        if options.page:
            put_between(options.page, "fidelity", text(files))
        if options.picture:
            draw(options.picture, files)
    except (GameError, OSError, ValueError) as error:
        print(f"check_mock.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
