"""This project's loop as a benchmark program: ``python -m scripts.studies.rivals.ours GAMES ITERATIONS``."""

from __future__ import annotations

import sys

from scripts.studies.bench.loop import with_tree
from scripts.studies.rivals.programs.job import Laps
from selfplay.distribution import version


def main() -> None:
    """Run one sample under the supervision tree, whose first iteration is left out, and print the times."""
    games, iterations = map(int, sys.argv[1:])
    Laps(with_tree(games, iterations).total).answer(version())


if __name__ == "__main__":
    main()
