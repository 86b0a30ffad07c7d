"""Compare self-play that starts from imitation with self-play from scratch, on one budget and several seeds.

What is there already is not made again: runs in --runs, figures in docs/data/start/. Writes docs/imitation.md.
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
from selfplay.trainer.cli import Parser, exit_code, weights, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

PARTS: Final = ("train", "games", "page")


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="start_study.py", description=__doc__)
    parser.add_argument("--policy", type=Path, required=True, metavar="PATH", help="what imitation made")
    parser.add_argument(
        "--teacher-kl", type=weights, default="0,0.01,0.1", metavar="F,F", help="weights (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=4_000_000, metavar="N", help="of a run (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,NAME", help="what to do (default: all)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "start", help="where the runs go")
    parser.add_argument("--name", default="start", help="of the figures' folder below docs/data (default: %(default)s)")
    options = parser.parse_args()
    return exit_code("start_study.py", lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Do the parts that are asked for."""
    from selfplay.trainer.start_study import SCRATCH, StartStudy, pairs_of

    parts = options.parts.split(",")
    if wrong := [name for name in parts if name not in PARTS]:
        raise ConfigError(f"--parts {wrong[0]}: unknown (valid: {', '.join(PARTS)})")
    arms, seeds = [SCRATCH, *(f"kl_{weight}" for weight in options.teacher_kl)], options.seeds
    out = ROOT / "docs" / "data" / options.name
    study = StartStudy(options.policy, options.runs, out, options.steps, lambda text: print(text, flush=True))
    for seed in seeds:
        for arm in arms:
            if "train" in parts:
                study.train(arm, seed)
    for seed in seeds:
        for arm in arms:
            if "games" in parts:
                study.measure(arm, seed, seeds)
        for one, other in pairs_of(arms) if "games" in parts else ():
            study.meet(one, other, seed)
    if "page" in parts:
        study.write(ROOT / "docs" / "imitation.md", arms, seeds)


if __name__ == "__main__":
    sys.exit(main())
