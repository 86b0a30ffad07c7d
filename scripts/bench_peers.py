"""Measure this project's training loop beside Stable-Baselines3, CleanRL's PPO, PufferLib, Sample Factory and RLlib.

The same game, network and settings everywhere; every trainer in a virtual environment of its own, made on first use.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.peers.venvs import PEERS, chosen, default_folder  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, exit_when_told, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

GAMES = "256,4"


def main() -> int:
    """Measure, print, exit code."""
    parser = Parser(prog="bench_peers.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="samples of each (default: %(default)s)")
    parser.add_argument("--games", type=whole_numbers, default=GAMES, metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAME,NAME", help="(default: %(default)s)")
    parser.add_argument(
        "--venvs", type=Path, default=default_folder(), metavar="DIR", help="their environments (default: %(default)s)"
    )
    parser.add_argument("--write", action="store_true", help="put the figures into docs/")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    exit_when_told()  # so that what runs ends with us
    return exit_code("bench_peers.py", lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Measure and show."""
    if options.rounds < 1:
        raise ConfigError("--rounds must be at least 1")
    if not options.games or min(options.games) < 1:
        raise ConfigError("--games must be whole numbers from 1")
    peers = chosen(options.peers)
    if options.write and (len(peers), options.games) != (len(PEERS), whole_numbers(GAMES)):
        raise ConfigError("--write replaces the whole table: leave --games and --peers as they are")
    from selfplay.peers.bench import Bench
    from selfplay.peers.page import table, write

    bench = Bench(peers, options.venvs.absolute(), lambda text: print(text, file=sys.stderr, flush=True))
    figures = bench.measure(options.games, options.rounds)
    print(json.dumps(figures) if options.json else table(figures))
    if options.write:
        write(ROOT / "docs", figures)


if __name__ == "__main__":
    sys.exit(main())
