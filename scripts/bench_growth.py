"""Measure how cost grows with games in a block, players on the ladder, generations of a run and rows of the ledger."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in leaderboard.py

from selfplay.errors import ConfigError, SelfPlayError  # noqa: E402
from selfplay.trainer.cli import Parser  # noqa: E402

if TYPE_CHECKING:
    import argparse


def parser() -> Parser:
    """The command line."""
    made = Parser(
        prog="bench_growth.py",
        description=__doc__,
        epilog="exit code: 0 where nothing grows faster than n log n, 1 where something does",
    )
    made.add_argument("--only", metavar="LIST", help="some of games,players,generations,ledger (default: all)")
    made.add_argument("--quick", action="store_true", help="small sizes, in seconds: shows that it works, no more")
    made.add_argument("--write", action="store_true", help="put figures, table and chart into docs/")
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def main() -> int:
    """Measure, print, exit code."""
    try:
        options = parser().parse_args()
        return measure(options)
    except (SelfPlayError, OSError) as error:
        print(f"bench_growth.py: {error}", file=sys.stderr)
        return 2


def measure(options: argparse.Namespace) -> int:
    """What the options ask for."""
    from selfplay.trainer.growth.page import document, table, write
    from selfplay.trainer.growth.parts import chosen, measured

    parts = chosen(options.only)
    if options.write and (options.quick or options.only is not None):
        raise ConfigError("--write puts a whole measurement into docs/: leave out --quick and --only")
    series = measured(parts, quick=options.quick, say=lambda text: print(text, file=sys.stderr))
    print(json.dumps(document(series)) if options.json else table(series))
    if options.write:
        write(ROOT / "docs", series)
    return 0 if options.quick or all(one.holds for one in series) else 1


if __name__ == "__main__":
    sys.exit(main())
