"""Train on games with known solutions and report the distance of the policies from equilibrium; or report it of a run.

With --run nothing is trained: what the saved generations of a run are worth is computed exactly, in any game that is
small enough.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_own_code
from selfplay.commands.cli import command
from selfplay.config.words import check_name
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.commands.selfcheck import SelfcheckResult
    from selfplay.evaluation.exact import RunFigures


def parser() -> argparse.ArgumentParser:
    from selfplay.games.solved import SOLVED

    made = Parser(description=__doc__, words={game: f"--games {game}" for game in SOLVED})
    made.add_argument("--seeds", metavar="N,N", help="seeds of the runs (default: 0,1,2)")
    made.add_argument("--games", metavar="NAME,NAME", help="only these (default: all)")
    made.add_argument("--run", metavar="RUN", help="judge this run, or its name in checkpoints/, and train nothing")
    made.add_argument(
        "--max-minutes", type=float, metavar="M", help="with --run: for writing the game down (default: 10)"
    )
    add_own_code(made)
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


@command(parser)
def main(options: argparse.Namespace) -> int:
    """Train, judge, print; 1 where a recommended player lies outside its band."""
    from selfplay.games.solved import SOLVED

    if options.run is not None:
        return judge_run(options)
    if options.game_type is not None or options.max_minutes is not None:
        raise ConfigError("--game-type and --max-minutes go with --run; --games names games to train")
    given = "0,1,2" if options.seeds is None else options.seeds
    seeds = [int(seed) for seed in given.split(",") if seed.isdigit()]
    games = options.games.split(",") if options.games else list(SOLVED)
    if not seeds or ",".join(map(str, seeds)) != given:
        raise ConfigError(f"--seeds {given}: whole numbers are needed, with commas between them")
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


def judge_run(options: argparse.Namespace) -> int:
    """Print exact figures of a run."""
    if options.games is not None or options.seeds is not None:
        raise ConfigError("--games and --seeds are of trained games; --run judges one run")
    minutes = 10.0 if options.max_minutes is None else options.max_minutes
    if not minutes > 0.0:
        raise ConfigError(f"--max-minutes {minutes:g}: a number above 0 is needed")
    from selfplay.checkpoint import RunDir
    from selfplay.checkpoint.run_dir import named_run
    from selfplay.commands.exact import figures_of_run
    from selfplay.config.resume import game_of_run
    from selfplay.evaluation.named_players import check_game_type
    from selfplay.games.solved.enumeration import Limits

    run = RunDir(named_run(options.run))
    check_game_type(str(run.path), game_of_run(run), options.game_type)
    found = figures_of_run(run, Limits(seconds=60.0 * minutes))
    print(json.dumps(asdict(found)) if options.json else "\n".join(lines(found)))
    return 0


def lines(found: RunFigures) -> list[str]:
    """Figures of a run in words and tables."""
    mixed, width = found.mixtures, max(map(len, (*found.players, *found.generations, "recommended")))
    chosen = [
        f"{name} {weight:.1%}" for name, weight in zip(found.generations, mixed.weights, strict=True) if weight > 5e-3
    ]
    recommended = "" if found.shared else f" recommended: the weights of Nash averaging:\n  {', '.join(chosen)}"
    heads = "".join(name.rjust(width + 2) for name in found.players)
    return [
        f"NashConv of {found.game} in {found.unit}, exactly, from all {found.nodes:,} states:",
        *(f"  {name:<{width}}  {value:8.4f}" for name, value in found.nash_convs.items()),
        f"average: each generation of the second half equally often.{recommended}",
        "",
        f"Mean {found.unit} of the row's player against the column's, both seats equally often:",
        f"  {'':<{width}}{heads}",
        *(
            f"  {name:<{width}}{''.join(f'{value:+z.4f}'.rjust(width + 2) for value in row)}"
            for name, row in zip(found.players, found.payoffs, strict=True)
        ),
        *(f"Without {name}: {why}" for name, why in found.left_out.items()),
    ]
