"""Measure what the choices of the laptop preset are worth: short runs with one choice changed; writes docs/learning.md.

A finished cell (variant, seed) is kept in docs/data/ablation/ and not trained again.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from scripts.studies import ROOT
from scripts.studies.cells import Cells
from scripts.studies.command_line import Command, chosen
from scripts.studies.learning import read_cells, train_and_evaluate
from scripts.studies.pages import put_between, table

if TYPE_CHECKING:
    import argparse

STEPS: Final = 2_000_000
GAMES: Final = 60
OPPONENTS: Final = ("walker", "rusher", "shield_grabber", "edge_guarder")
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "preset": (),
    "uniform_start": ("--set", "net.rest=0"),
    "small_rewards": ("--set", "reward.stock=1", "--set", "reward.damage=0.01", "--set", "ppo.value_clip=0.2"),
    "frame_skip_2": ("--frame-skip", "2"),
    "frame_skip_8": ("--frame-skip", "8"),
    "delay_4": ("--delay", "4"),
    "gamma_0.98": ("--gamma", "0.98"),
    "entropy_0.0001": ("--entropy", "1e-4"),
    "rollout_128": ("--rollout-length", "128"),
}


def write(page: Path, folder: Path) -> None:
    """Put the scores of all variants with finished cells into the page."""
    rows = []
    for name, arguments in VARIANTS.items():
        if cells := read_cells(folder / name):
            scores = [[float(cell["results"][opponent]["score"]) for cell in cells] for opponent in OPPONENTS]
            means = [f"{fmean(each):.0%} ({', '.join(f'{score:.0%}' for score in each)})" for each in scores]
            rows.append((f"{name}: `{' '.join(arguments)}`", len(cells), *means))
    put_between(page, "ablation", table(("variant", "seeds", *OPPONENTS), rows))


def main() -> int:
    """Run the command; the exit code."""
    command = Command("ablation", __doc__)
    command.add_seeds()
    command.add_argument("--variants", default=",".join(VARIANTS), metavar="NAME,NAME", help="(default: all)")
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "ablation", help="where the runs go")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    out = ROOT / "docs" / "data" / "ablation"
    for seed, name in product(options.seeds, chosen("--variants", options.variants, VARIANTS)):
        folder = options.runs / name / f"seed_{seed}"
        arguments = (*VARIANTS[name], "--timesteps", str(STEPS), "--no-track-elo")
        Cells(out).make(f"{name}/seed_{seed}", partial(train_and_evaluate, seed, folder, arguments, GAMES))
    write(ROOT / "docs" / "learning.md", out)


if __name__ == "__main__":
    sys.exit(main())
