"""Compare training that waits for each update with training that plays ahead (--max-policy-lag 1).

For each seed both are trained, one after the other, and their last policies play each other. At equal minutes the
faster one's last policy meets the newest generation that the other had by then. Finished runs in --runs and cells in
docs/data/policy_lag.json are used again; delete an entry to repeat it.
"""

from __future__ import annotations

import sys
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final

from scripts.studies import ROOT
from scripts.studies.cells import PRESET, Cell, Cells, train_if_missing
from scripts.studies.combat.measure import scores
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import interval, measured_here, put_between, table
from selfplay.checkpoint import RunDir, list_generations
from selfplay.evaluation.evaluate import evaluate
from selfplay.evaluation.players import contender, home_rules
from selfplay_melee import bots

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path


OUT: Final = ROOT / "docs" / "data" / "policy_lag.json"
PAGE: Final = ROOT / "docs" / "trainer" / "internals" / "performance.md"
LAGS: Final = (0, 1)
STEPS: Final = 4_000_000
GAMES: Final = 400


def measure(seed: int, steps: int, games: int, runs: Path) -> Cell:
    """Train both, unless they are finished, and play. Blocks."""
    made = [RunDir(runs / f"lag_{lag}_seed_{seed}") for lag in LAGS]
    for lag, run in zip(LAGS, made, strict=True):
        flags = ("--timesteps", str(steps), "--seed", str(seed), "--no-track-elo", "--max-policy-lag", str(lag))
        train_if_missing(run, (*PRESET, *flags), notify)
    summaries = [run.read_summary() for run in made]
    seconds = [float(str(summary["elapsed_s"])) for summary in summaries]
    waits, ahead = (contender(str(summary["newest"]), run) for summary, run in zip(summaries, made, strict=True))
    rules = home_rules((waits,))
    slow, fast = (0, 1) if seconds[0] > seconds[1] else (1, 0)
    share = seconds[fast] / seconds[slow]
    generations = list_generations(made[slow])
    then = [each.id for each in generations if each.iteration <= share * generations[-1].iteration]
    early = contender(then[-1], made[slow])
    pair = (early, ahead) if slow == 0 else (waits, early)
    game_seed = 30_000 + seed
    scripted = [contender(name) for name in bots.LADDER]
    beside = [scores(one, scripted, rules, games // 4, game_seed) for one in (waits, ahead)]
    return {
        "seed": seed,
        **measured_here(),
        "steps": steps,
        "steps_per_s": [summary["steps_per_s_median"] for summary in summaries],
        "seconds": seconds,
        "equal_steps": evaluate(ahead, waits, games, rules, game_seed).document(),
        "equal_minutes": evaluate(pair[1], pair[0], games, rules, game_seed).document(),
        "scripted": [fmean(result["score"] for result in results.values()) for results in beside],
    }


def text(cells: Sequence[Cell]) -> str:
    """Speeds and scores of all seeds in Markdown."""
    rows = [
        (
            cell["seed"],
            *(f"{speed:,.0f}" for speed in cell["steps_per_s"]),
            *(f"{seconds:.0f}" for seconds in cell["seconds"]),
            *(interval(cell[name]) for name in ("equal_steps", "equal_minutes")),
            " / ".join(f"{score:.1%}" for score in cell["scripted"]),
        )
        for cell in cells
    ]
    first = cells[0]
    head = (
        "seed",
        *("steps/s, lag 0", "lag 1", "seconds, lag 0", "lag 1"),
        *("score of lag 1, equal steps", "equal minutes", "against scripted players, lag 0 / 1"),
    )
    told = f"{first['date']}, {first['processor']}, {first['cores']} cores, preset `laptop`, {first['steps']:,} steps:"
    return f"{told}\n\n{table(head, rows)}"


def main() -> int:
    command = Command("policy_lag", __doc__)
    command.add_seeds()
    command.add_argument("--steps", type=int, default=STEPS, metavar="N", help="of a run (default: %(default)s)")
    command.add_argument("--games", type=int, default=GAMES, metavar="N", help="of a pair (default: %(default)s)")
    command.add_runs("policy_lag")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    cells = Cells(OUT)
    for seed in options.seeds:
        cells.make(f"seed_{seed}", partial(measure, seed, options.steps, options.games, options.runs))
    put_between(PAGE, "policy lag", text(cells.read(cells.names("seed_*"))))


if __name__ == "__main__":
    sys.exit(main())
