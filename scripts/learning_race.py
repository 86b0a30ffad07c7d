"""Race this project against other trainers: strength over minutes, the systems taking turns on the machine.

Cells that are finished, in docs/data/race/, are not made again. Writes docs/performance.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.peers.venvs import chosen, default_folder  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, exit_when_told, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse


def main() -> int:
    """Race, write, exit code."""
    parser = Parser(prog="learning_race.py", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, metavar="F", help="of each system (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--peers", metavar="NAME,NAME", help="(default: the two fastest of docs/data/peers.json)")
    parser.add_argument(
        "--evaluation-games", type=int, default=200, metavar="N", help="an anchor (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "race", metavar="DIR", help="the cells")
    parser.add_argument("--work", type=Path, default=ROOT / "checkpoints" / "race", metavar="DIR", help="the runs")
    parser.add_argument("--venvs", type=Path, default=default_folder(), metavar="DIR", help="environments of the peers")
    parser.add_argument("--write", action="store_true", help="put curves and table into docs/")
    options = parser.parse_args()
    exit_when_told()  # so that what runs ends with us
    return exit_code("learning_race.py", lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Make the missing cells; show them."""
    if not options.minutes > 0 or options.evaluation_games < 2:
        raise ConfigError("--minutes must be above 0, and --evaluation-games at least 2")
    named = None if options.peers is None else [peer.name for peer in chosen(options.peers)]
    from selfplay.peers.race import Plan, Race, ways_of
    from selfplay.peers.race_page import read_cells, table, write
    from selfplay.peers.running import OURS

    ways = ways_of(ROOT / "docs" / "data" / "peers.json", named)
    plan = Plan((OURS, *ways), ways, options.seeds, options.minutes, evaluation_games=options.evaluation_games)
    out, work = options.out.absolute(), options.work.absolute()
    Race(plan, out, work, options.venvs.absolute(), lambda text: print(text, file=sys.stderr, flush=True)).run()
    print(table(read_cells(out)))
    if options.write:
        write(ROOT / "docs")


if __name__ == "__main__":
    sys.exit(main())
