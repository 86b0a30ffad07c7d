"""Train the laptop preset's dialogue game with several seeds, both advantages, and from files; writes docs/dialogue.md.

What is finished is not repeated: runs in --runs, figures in docs/data/dialogue.json.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies import ROOT
from scripts.studies.command_line import Command, chosen, notify
from scripts.studies.dialogue.exchange import ARMS, DialogueStudy, command
from scripts.studies.dialogue.files import FilesStudy
from selfplay.config.dialogue_cli import parse

if TYPE_CHECKING:
    import argparse

FILES = "files"


def main() -> int:
    """Run the command; the exit code."""
    made = Command("dialogue", __doc__)
    made.add_argument("--arms", default="dr_grpo,grpo,files", metavar="NAME,NAME", help="(default: %(default)s)")
    made.add_seeds()
    made.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "dialogue", help="where the runs go")
    return made.execute(run)


def run(options: argparse.Namespace) -> None:
    """Train what is missing, then write the page."""
    arms = chosen("--arms", options.arms, (*ARMS, FILES))
    page, out = ROOT / "docs" / "dialogue.md", ROOT / "docs" / "data" / "dialogue"
    study = DialogueStudy(options.runs, out, notify)
    from_files = FilesStudy(ROOT / "scripts", options.runs, out, notify)
    for seed, arm in product(options.seeds, arms):
        if arm == FILES:
            from_files.train(parse(command("dr_grpo", seed).split()[2:]).config)
        else:
            study.train(arm, seed)
    study.write(page, options.seeds)
    from_files.write(page, options.seeds)


if __name__ == "__main__":
    sys.exit(main())
