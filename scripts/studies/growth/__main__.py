"""Measure how cost grows with games in a block, players on the ladder, generations of a run and rows of the ledger."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from scripts.studies import ROOT
from scripts.studies.command_line import Command, tell_error
from scripts.studies.growth.page import document, table, write
from scripts.studies.growth.parts import choose, measured
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse


def main() -> int:
    """Run the command; the exit code."""
    command = Command("growth", __doc__, epilog="exit code: 1 where something grows faster than n log n, else 0")
    command.add_argument("--only", metavar="LIST", help="some of games,players,generations,ledger (default: all)")
    command.add_argument("--quick", action="store_true", help="small sizes, which show only that it works")
    command.add_argument("--write", action="store_true", help="put figures, table and chart into docs/")
    command.add_argument("--json", action="store_true", help="as JSON")
    return command.execute(run)


def run(options: argparse.Namespace) -> int:
    """Measure and print; 1 where something grows too fast."""
    parts = choose(options.only)
    if options.write and (options.quick or options.only is not None):
        raise ConfigError("--write puts a whole measurement into docs/: leave out --quick and --only")
    series = measured(parts, quick=options.quick, tell=tell_error)
    print(json.dumps(document(series)) if options.json else table(series))
    if options.write:
        write(ROOT / "docs", series)
    return 0 if options.quick or all(one.holds for one in series) else 1


if __name__ == "__main__":
    sys.exit(main())
