"""Compare the modes of choosing opponents on one budget: trains runs of each, lets them meet, searches for weaknesses.

What is there already is not made again: runs in --runs, figures in docs/data/modes/. Writes docs/learning.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.league.modes import MODES as SHARES  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

MODES: Final = "simple_mix,latest,delta_uniform,quality,pfsp_variance,league"
PARTS: Final = ("train", "games", "exploit", "search", "page")


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="mode_study.py", description=__doc__)
    parser.add_argument("--modes", default=MODES, metavar="NAME,NAME", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=4_000_000, metavar="N", help="of a run (default: %(default)s)")
    parser.add_argument("--games", type=int, default=20, metavar="N", help="of two players (default: %(default)s)")
    parser.add_argument("--exploiter-steps", type=int, default=1_000_000, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--best", default="", metavar="NAME,NAME", help="modes whose weaknesses are searched for")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,NAME", help="what to do (default: all)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "modes", help="where the runs go")
    options = parser.parse_args()
    return exit_code("mode_study.py", lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Do the parts that are asked for."""
    from selfplay.trainer.mode_study import ModeStudy, run_name

    modes, parts = options.modes.split(","), options.parts.split(",")
    best = [mode for mode in options.best.split(",") if mode]
    names = [run_name(mode, seed) for seed in options.seeds for mode in modes]
    study = ModeStudy(
        options.runs, ROOT / "docs" / "data" / "modes", options.steps, lambda text: print(text, flush=True)
    )
    for what, valid, given in (("--parts", PARTS, parts), ("--modes", tuple(SHARES), modes), ("--best", modes, best)):
        if wrong := [name for name in given if name not in valid]:
            raise ConfigError(f"{what} {wrong[0]}: unknown (valid: {', '.join(valid)})")
    if "train" in parts:
        for seed in options.seeds:
            for mode in modes:
                study.train(mode, seed)
    if "games" in parts:
        study.meet(names, options.games)
    if "exploit" in parts:
        for name in names:
            study.exploit(name, options.exploiter_steps, ("victim",), (0,), 200)
    if "search" in parts:
        for name in (run_name(mode, seed) for seed in options.seeds for mode in best):
            study.exploit(name, options.exploiter_steps, ("scratch", "victim"), (0, 1, 2), 200)
    if "page" in parts:
        study.write(ROOT / "docs" / "learning.md", modes, options.seeds, best)


if __name__ == "__main__":
    sys.exit(main())
