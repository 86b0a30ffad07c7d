"""Measure the hosts of blocks of games on this machine; writes docs/cluster.md. Needs the extra [ray].

What is finished is not repeated: figures in docs/data/cluster/.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from scripts.studies import ROOT
from scripts.studies.cluster.study import ClusterStudy
from scripts.studies.command_line import Command, chosen, tell

if TYPE_CHECKING:
    import argparse

PARTS: Final = ("speed", "learning", "page")


def main() -> int:
    """Run the command; the exit code."""
    command = Command("cluster", __doc__)
    command.add_seeds()
    command.add_parts(PARTS)
    command.add_argument("--rounds", type=int, default=3, metavar="N", help="of speeds (default: %(default)s)")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Do the parts in order."""
    parts, docs = chosen("--parts", options.parts, PARTS), ROOT / "docs"
    study = ClusterStudy(docs / "data" / "cluster", tell)
    if "speed" in parts:
        study.speed(options.rounds)
    if "learning" in parts:
        study.learning(options.seeds)
    if "page" in parts:
        study.page(docs)


if __name__ == "__main__":
    sys.exit(main())
