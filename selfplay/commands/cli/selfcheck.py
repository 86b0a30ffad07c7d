"""Train on games with known solutions and report the distance of the policies from equilibrium."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command
from selfplay.config.words import check_name
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.commands.selfcheck import SelfcheckResult


def parser() -> argparse.ArgumentParser:
    from selfplay.games.solved import SOLVED

    made = Parser(description=__doc__, words={game: f"--games {game}" for game in SOLVED})
    made.add_argument("--seeds", default="0,1,2", metavar="N,N", help="seeds of the runs (default: %(default)s)")
    made.add_argument("--games", metavar="NAME,NAME", help="only these (default: all)")
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


@command(parser)
def main(options: argparse.Namespace) -> int:
    """Train, judge, print; 1 where a recommended player lies outside its band."""
    from selfplay.games.solved import SOLVED

    seeds = [int(seed) for seed in options.seeds.split(",") if seed.isdigit()]
    games = options.games.split(",") if options.games else list(SOLVED)
    if not seeds or ",".join(map(str, seeds)) != options.seeds:
        raise ConfigError(f"--seeds {options.seeds}: whole numbers are needed, with commas between them")
    for game in games:
        check_name("--games", game, SOLVED)
    from selfplay.commands.selfcheck import CASES, check
    from selfplay.report.ticker import Ticker

    started = time.monotonic()
    found: list[SelfcheckResult] = []
    if not options.json:
        print(f"{'game':<8} {'seed':>4} {'last':>7} {'average':>8} {'recommended':>12} {'band':>6}")
    total, before = sum(CASES[game].steps for game in games) * len(seeds), 0
    with Ticker(sys.stderr, "Training, steps", total) as ticker:
        for game in games:
            for seed in seeds:
                found.append(check(game, CASES[game], seed, ticker.at, before))
                before += CASES[game].steps
                if not options.json:
                    print(row(found[-1]), flush=True)
    seconds = time.monotonic() - started
    passed = all(finding.passed for finding in found)
    if options.json:
        runs = [asdict(finding) | {"passed": finding.passed} for finding in found]
        print(json.dumps({"passed": passed, "seconds": round(seconds, 1), "runs": runs}))
    else:
        print(f"{'All inside' if passed else 'Not all inside'} their bands; NashConv, {seconds:.0f} s")
    return 0 if passed else 1


def row(finding: SelfcheckResult) -> str:
    return (
        f"{finding.game:<8} {finding.seed:>4} {finding.last:>7.3f} {finding.average:>8.3f} "
        f"{finding.recommended:>12.3f} {finding.band:>6.2f}{'' if finding.passed else '  outside'}"
    )
