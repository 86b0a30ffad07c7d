"""Train the laptop's game of words with several seeds, both advantages, and from files, and write what came of it.

What is there already is not made again: runs in --runs, figures in docs/data/dialogue/. Writes docs/dialogue.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, whole_numbers  # noqa: E402

FILES = "files"


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="dialogue_study.py", description=__doc__)
    parser.add_argument("--arms", default="dr_grpo,grpo,files", metavar="NAME,NAME", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "dialogue", help="where the runs go")
    options = parser.parse_args()
    return exit_code("dialogue_study.py", lambda: run(options.arms.split(","), options.seeds, options.runs))


def run(arms: list[str], seeds: list[int], runs: Path) -> None:
    """Train what is missing, then write the page."""
    from selfplay.trainer.dialogue.cli import parse
    from selfplay.trainer.dialogue.files.study import FilesStudy
    from selfplay.trainer.dialogue.study import ARMS, WordsStudy, command

    if wrong := [arm for arm in arms if arm not in (*ARMS, FILES)]:
        raise ConfigError(f"--arms {wrong[0]}: unknown (valid: {', '.join((*ARMS, FILES))})")
    page, out = ROOT / "docs" / "dialogue.md", ROOT / "docs" / "data" / "dialogue"
    study = WordsStudy(runs, out, lambda text: print(text, flush=True))
    from_files = FilesStudy(ROOT / "scripts", runs, out, lambda text: print(text, flush=True))
    for seed in seeds:
        for arm in arms:
            if arm == FILES:
                from_files.train(parse(command("dr_grpo", seed).split()[2:]).config)
            else:
                study.train(arm, seed)
    study.write(page, seeds)
    from_files.write(page, seeds)


if __name__ == "__main__":
    sys.exit(main())
