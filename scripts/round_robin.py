"""Play every scripted player of the ladder against every other and show how strong they are."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from envs.melee import bots  # noqa: E402
from selfplay.errors import SelfPlayError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code  # noqa: E402

if TYPE_CHECKING:
    import argparse

    from selfplay.trainer.evaluation import Evaluation

Results = dict[tuple[str, str], "Evaluation"]  # of (stronger, weaker) on the ladder


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = Parser(prog="round_robin.py", description=__doc__, allow_abbrev=False)
    made.add_argument("--games", type=int, default=200, metavar="N", help="of each pair (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the games (default: %(default)s)")
    made.add_argument("--character", default="mewtwo", metavar="NAME", help="of both (default: %(default)s)")
    made.add_argument("--stage", default="final_destination", metavar="NAME", help="(default: %(default)s)")
    made.add_argument("--max-episode-frames", type=int, default=3600, metavar="N", help="cap (default: %(default)s)")
    made.add_argument("--json", type=Path, metavar="FILE", help="keep the figures here")
    made.add_argument("--page", type=Path, metavar="FILE", help="put the tables between the markers of this page")
    return made


def measure(options: argparse.Namespace) -> Results:
    """Play; a line for each pair as it is done."""
    from selfplay.runner.match import Contender, Rules
    from selfplay.trainer.evaluation import evaluate

    rules = Rules(stage=options.stage, max_episode_frames=options.max_episode_frames)
    results: Results = {}
    for weaker, stronger in combinations(bots.LADDER, 2):
        players = Contender(stronger), Contender(weaker)
        result = evaluate(*players, options.games, (options.character,) * 2, rules, options.seed)
        results[stronger, weaker] = result
        print(f"{stronger:>15} against {weaker:<15} {interval(result)}, {by_stocks(result)} of its wins by stocks")
    return results


def interval(result: Evaluation) -> str:
    """Score with its 95% interval."""
    return f"{result.score:.1%} ({result.low:.1%} to {result.high:.1%})"


def by_stocks(result: Evaluation) -> str:
    """Share of the wins that came with more stocks."""
    return "none" if result.by_stocks is None else f"{result.by_stocks:.0%}"


def document(options: argparse.Namespace, results: Results) -> dict[str, Any]:
    """Everything that the figures depend on, and the figures."""
    import numba
    import numpy as np

    from envs.melee.physics import RULES_VERSION
    from selfplay.trainer.machine import processor

    return {
        "command": shlex.join(["python", "scripts/round_robin.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "seed": options.seed,
        "games": options.games,
        "character": options.character,
        "stage": options.stage,
        "max_episode_frames": options.max_episode_frames,
        "versions": {
            "bots": bots.VERSION,
            "rules": RULES_VERSION,
            "python": platform.python_version(),
            "numba": numba.__version__,
            "numpy": np.__version__,
        },
        "ladder": list(bots.LADDER),
        "pairs": [{"a": a, "b": b, **asdict(result)} for (a, b), result in results.items()],
    }


def tables(made: dict[str, Any], results: Results) -> str:
    """The ladder and the whole table, as Markdown."""
    rows = [
        f"`{made['command']}`, {made['date']}, {made['processor']}: {made['games']} games a pair, {made['character']} "
        f"dittos on {made['stage']}, at most {made['max_episode_frames']} frames, bots version "
        f"{made['versions']['bots']}, rules version {made['versions']['rules']}.",
        "",
        "| player | against the next weaker one | wins by stocks | damage dealt, taken | self-destructs a game |",
        "|---|---|---|---|---|",
    ]
    for weaker, stronger in zip(bots.LADDER, bots.LADDER[1:], strict=False):
        result = results[stronger, weaker]
        dealt, taken = result.damage
        rows.append(
            f"| {stronger} | {interval(result)} against {weaker} | {by_stocks(result)} "
            f"| {dealt:.0f}%, {taken:.0f}% | {result.self_destructs[0]:.2f} |"
        )
    rows += ["", "Score of the player of the row against that of the column; in brackets its wins by stocks:", ""]
    rows.append(f"| | {' | '.join(bots.LADDER[:-1])} |")
    rows.append(f"|---|{'---|' * (len(bots.LADDER) - 1)}")
    for place, player in enumerate(bots.LADDER[1:], 1):
        weaker_ones = [results[player, weaker] for weaker in bots.LADDER[:place]]
        cells = [f"{result.score:.1%} ({by_stocks(result)})" for result in weaker_ones]
        rows.append(f"| {player} | {' | '.join([*cells, *[''] * (len(bots.LADDER) - 1 - place)])} |")
    return "\n".join(rows)


def run(options: argparse.Namespace) -> None:
    """Play, print, keep."""
    from selfplay.checkpoint.store import write_file
    from selfplay.trainer.pages import put_between

    results = measure(options)
    made = document(options, results)
    text = tables(made, results)
    print(f"\n{text}")
    if options.json:
        write_file(options.json, (json.dumps(made, indent=1) + "\n").encode())
    if options.page:
        try:
            put_between(options.page, "round robin", text)
        except ValueError as error:
            raise SelfPlayError(f"{options.page} has no markers named 'round robin'") from error


def main() -> int:
    """Run the command; the exit code."""
    return exit_code("round_robin.py", lambda: run(parser().parse_args()))


if __name__ == "__main__":
    sys.exit(main())
