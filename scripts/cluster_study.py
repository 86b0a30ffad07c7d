"""Measure the hosts of blocks of games on this machine: threads, processes, Ray actors, Ray actors on two nodes.

What is there already is not made again: figures in docs/data/cluster/. Writes docs/cluster.md. Needs the extra [ray].
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

PARTS: Final = ("speed", "learning", "page")


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="cluster_study.py", description=__doc__)
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,NAME", help="what to do (default: all)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of speeds (default: %(default)s)")
    options = parser.parse_args()
    return exit_code("cluster_study.py", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """The parts in order."""
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        raise ConfigError(f"--parts {options.parts}: {sorted(unknown)[0]} is no part (valid: {', '.join(PARTS)})")
    from selfplay.trainer.cluster_study import ClusterStudy

    docs = ROOT / "docs"
    study = ClusterStudy(docs / "data" / "cluster", print)
    if "speed" in parts:
        study.speed(options.rounds)
    if "learning" in parts:
        study.learning(tuple(options.seeds))
    if "page" in parts:
        study.page(docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
