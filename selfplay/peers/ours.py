"""This project's loop as a program beside those of others: ``python -m selfplay.peers.ours GAMES ITERATIONS``."""

from __future__ import annotations

import sys
from importlib.metadata import version

from selfplay.peers.programs.job import Laps
from selfplay.trainer.bench_loop import with_tree


def main() -> None:
    """Play one sample under the tree, whose first iteration is not counted; answer as the others do."""
    games, iterations = map(int, sys.argv[1:])
    times = with_tree(games, iterations)
    Laps(times.total, times.collect, times.update).answer(version("selfplay"))


if __name__ == "__main__":
    main()
