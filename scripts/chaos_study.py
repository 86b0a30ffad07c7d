"""Measure whether training learns as well while games crash, hang and give nonsense; writes docs/reliability.md.

Trains the main job with faults on purpose (--chaos) and without, for some seeds, and lets the last generations meet.
What is in docs/data/chaos/ is not measured again; delete a file to repeat it. Exit code 1 where learning suffered.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

PARTS: Final = ("train", "games", "page")


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="chaos_study.py", description=__doc__)
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="of two players (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,NAME", help="what to do (default: all)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "chaos", help="where the runs go")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "chaos", help="where figures go")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "reliability.md", help="the page to write")
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="more of the command line of each training")
    options = parser.parse_args()
    return exit_code("chaos_study.py", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Do the parts that are asked for; 1 where something was not as it should be."""
    from selfplay.trainer.chaos_study import ARMS, ChaosStudy

    parts = options.parts.split(",")
    if wrong := [name for name in parts if name not in PARTS]:
        raise ConfigError(f"--parts {wrong[0]}: unknown (valid: {', '.join(PARTS)})")
    if options.games < 2:
        raise ConfigError(f"--games {options.games}: at least 2 are needed, one from each seat")
    tell = lambda text: print(text, flush=True)  # noqa: E731
    study = ChaosStudy(options.runs, options.out, tell, options.options, options.games)
    if "train" in parts:
        for seed in options.seeds:
            for arm in ARMS:
                study.train(arm, seed)
    if "games" in parts:
        for seed in options.seeds:
            for other in options.seeds:
                study.meet(seed, other)
    wrong = study.write(options.page, options.seeds) if "page" in parts else []
    for text in wrong:
        print(f"not as it should be: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
