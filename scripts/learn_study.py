"""Measure how the main job learns: trains the laptop preset for some seeds and writes docs/learning.md.

A finished seed is kept in docs/data/learning/ (with --character and --mode in learning_CHARACTER_MODE/) and not trained
again; delete its file to repeat it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from selfplay.trainer.cli import Parser, whole_numbers  # noqa: E402


def main() -> int:
    """Train what is missing, write the page, exit code."""
    parser = Parser(prog="learn_study.py", description=__doc__)
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--character", metavar="NAME", help="dittos of another character than the preset's")
    parser.add_argument("--mode", metavar="MODE", help="another choice of opponents than the default")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints", help="where the runs go")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "data", help="where figures go")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "learning.md", help="the page to write")
    parser.add_argument("--rerate", action="store_true", help="rate the games of finished seeds again, train nothing")
    options = parser.parse_args()
    from selfplay.trainer.pages import put_between
    from selfplay.trainer.study import read_cells, rerate, run_cell, table, write_page

    changed = [(flag, value) for flag, value in (("character", options.character), ("mode", options.mode)) if value]
    name = "_".join(["learning", *(value for _, value in changed)])
    arguments = [word for flag, value in changed for word in (f"--{flag}", value)]
    for seed in options.seeds:
        out = options.out / name / f"seed_{seed}.json"
        if options.rerate:
            rerate(options.runs / name / f"seed_{seed}", out)
        elif out.exists():
            print(f"seed {seed}: measured already ({out})")
        else:
            run_cell(seed, options.runs / name / f"seed_{seed}", out, arguments)
    cells = read_cells(options.out / name)
    if changed:
        put_between(options.page, name, table(cells))
    else:
        write_page(options.page, cells)
    print(f"wrote {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
